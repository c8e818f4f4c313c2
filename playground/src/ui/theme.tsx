/** The button that changes how the page looks. */

import { type Theme, theme } from '../state/theme.js';
import { IconButton } from './controls.js';
import { AutoIcon, MoonIcon, SunIcon } from './icons.js';

const THEMES: Readonly<Record<Theme, { next: Theme; icon: () => preact.JSX.Element; label: string }>> = {
  auto: { next: 'light', icon: AutoIcon, label: 'Theme: system' },
  light: { next: 'dark', icon: SunIcon, label: 'Theme: light' },
  dark: { next: 'auto', icon: MoonIcon, label: 'Theme: dark' },
};

export function ThemeButton() {
  const { next, icon: ThemeIcon, label } = THEMES[theme.value];
  return (
    <IconButton label={label} onClick={() => (theme.value = next)}>
      <ThemeIcon />
    </IconButton>
  );
}
