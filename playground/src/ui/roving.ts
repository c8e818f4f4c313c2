/** Lists that the arrow keys walk through: one stop of the Tab key, whatever their length. */

import type { TargetedKeyboardEvent } from 'preact';

/** Moves the focus among the options of the list that the event came through. */
export function rove(event: TargetedKeyboardEvent<HTMLElement>): void {
  const options = [...event.currentTarget.querySelectorAll<HTMLElement>('[role=option]')];
  const at = options.indexOf(document.activeElement as HTMLElement);
  const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: options.length - 1 }[event.key];
  if (next === undefined) return;
  event.preventDefault();
  options[Math.max(0, Math.min(next, options.length - 1))]?.focus();
}

/** Puts the focus on the first option of a list. */
export function enterList(id: string): void {
  document.getElementById(id)?.querySelector<HTMLElement>('[role=option]')?.focus();
}

/** What makes an element an option that is chosen by a click, Enter or the space bar. */
export function option(isChosen: boolean, isFirst: boolean, choose: () => void) {
  return {
    role: 'option' as const,
    'aria-selected': isChosen,
    tabIndex: isFirst ? 0 : -1,
    onClick: choose,
    onKeyDown: (event: TargetedKeyboardEvent<HTMLElement>) => {
      if ((event.key !== 'Enter' && event.key !== ' ') || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      choose();
    },
  };
}
