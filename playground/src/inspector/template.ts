/** URI templates (RFC 6570): their variables, and what they become. */

const EXPRESSION = /\{([+#./;?&]?)([^{}]+)\}/g;

/** How the values of an expression are written, by its operator. */
const STYLES: Readonly<Record<string, { first: string; between: string; named: boolean; open: boolean }>> = {
  '': { first: '', between: ',', named: false, open: false },
  '+': { first: '', between: ',', named: false, open: true },
  '#': { first: '#', between: ',', named: false, open: true },
  '.': { first: '.', between: '.', named: false, open: false },
  '/': { first: '/', between: '/', named: false, open: false },
  ';': { first: ';', between: ';', named: true, open: false },
  '?': { first: '?', between: '&', named: true, open: false },
  '&': { first: '&', between: '&', named: true, open: false },
};

/** The names in a list of variables, and how many characters each may have. */
function names(list: string): readonly { name: string; most: number }[] {
  return list.split(',').map((part) => {
    const [name = '', most] = part.replace(/\*$/, '').split(':');
    return { name, most: most === undefined ? Infinity : Number(most) };
  });
}

/** The variables of a template, each once. */
export function variables(template: string): readonly string[] {
  const all = [...template.matchAll(EXPRESSION)].flatMap(([, , list]) => names(list!).map(({ name }) => name));
  return [...new Set(all)];
}

/** The URI with these values. Variables without a value are left out. */
export function expand(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(EXPRESSION, (_, operator: string, list: string) => {
    const { first, between, named, open } = STYLES[operator]!;
    const parts = names(list).flatMap(({ name, most }) => {
      const value = values[name];
      if (value === undefined || value === '') return [];
      const cut = [...value].slice(0, most).join('');
      const written = open ? encodeURI(cut).replaceAll('%25', '%') : encodeURIComponent(cut).replace(/[!'()*]/g, hex);
      return [named ? `${name}=${written}` : written];
    });
    return parts.length === 0 ? '' : first + parts.join(between);
  });
}

function hex(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}
