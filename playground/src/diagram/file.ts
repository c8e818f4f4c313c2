/** A diagram as a file. */

/** The text of an SVG file: the drawing as the page shows it, with the rules of the page that it needs, for light and dark. */
export function svgFile(drawing: SVGElement, sheets: Iterable<CSSStyleSheet>): string {
  const text = new XMLSerializer().serializeToString(drawing);
  const rules = [...sheets].flatMap((sheet) => [...sheet.cssRules].flatMap(needed));
  return text.replace(/^<svg[^>]*>/, (start) => `${start}<style>${rules.join('\n').replaceAll('<', '\\3c ')}</style>`);
}

/** A rule that drawings use: the colours, which may depend on light and dark, and what is for drawings alone. */
function needed(rule: CSSRule): string[] {
  if (rule instanceof CSSMediaRule) {
    const inner = [...rule.cssRules].flatMap(needed);
    return inner.length > 0 ? [`@media ${rule.conditionText} { ${inner.join(' ')} }`] : [];
  }
  return rule instanceof CSSStyleRule && /^(:root|\.seq|\.id-)/.test(rule.selectorText) ? [rule.cssText] : [];
}
