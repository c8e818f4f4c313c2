/** Icons. Each has a text or a label that says the same. */

import type { ComponentChildren } from 'preact';

function Icon({ children }: { children: ComponentChildren }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      {children}
    </svg>
  );
}

export const Logo = () => (
  <svg class="logo" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
    <rect x="1" y="1" width="22" height="22" rx="6" class="logo-ground" />
    <circle cx="7.5" cy="7.5" r="2" />
    <circle cx="16.5" cy="7.5" r="2" />
    <circle cx="7.5" cy="16.5" r="2" />
    <circle cx="16.5" cy="16.5" r="2" />
    <path d="M7.5 7.5C7.5 14 16.5 10 16.5 16.5" />
  </svg>
);

export const SearchIcon = () => (
  <Icon>
    <circle cx="7" cy="7" r="4.5" />
    <path d="m10.5 10.5 3.5 3.5" />
  </Icon>
);
export const HeadersIcon = () => (
  <Icon>
    <path d="M2.5 5h6m3.5 0h1.5m-11 6H4m3.5 0h6" />
    <circle cx="10.2" cy="5" r="1.7" />
    <circle cx="5.8" cy="11" r="1.7" />
  </Icon>
);
export const PersonIcon = () => (
  <Icon>
    <circle cx="8" cy="5.2" r="2.7" />
    <path d="M2.8 13.5c.6-2.7 2.6-4 5.2-4s4.6 1.3 5.2 4" />
  </Icon>
);
export const CopyIcon = () => (
  <Icon>
    <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
    <path d="M10.5 5.5v-2a1 1 0 0 0-1-1h-6a1 1 0 0 0-1 1v6a1 1 0 0 0 1 1h2" />
  </Icon>
);
export const LinkIcon = () => (
  <Icon>
    <path d="M6.5 9.5a2.8 2.8 0 0 0 4 0l2.2-2.2a2.8 2.8 0 0 0-4-4L7.8 4.2M9.5 6.5a2.8 2.8 0 0 0-4 0L3.3 8.7a2.8 2.8 0 0 0 4 4l.9-.9" />
  </Icon>
);
export const CloseIcon = () => (
  <Icon>
    <path d="m4 4 8 8m0-8-8 8" />
  </Icon>
);
export const CheckIcon = () => (
  <Icon>
    <path d="m3.5 8.5 3 3 6-7" />
  </Icon>
);
export const PlusIcon = () => (
  <Icon>
    <path d="M8 3v10M3 8h10" />
  </Icon>
);
export const SendIcon = () => (
  <Icon>
    <path d="M3 8h9M8.5 4.5 12 8l-3.5 3.5" />
  </Icon>
);
export const StopIcon = () => (
  <Icon>
    <rect x="4.5" y="4.5" width="7" height="7" rx="1" />
  </Icon>
);
export const SunIcon = () => (
  <Icon>
    <circle cx="8" cy="8" r="2.8" />
    <path d="M8 1.5v1.5m0 10v1.5M1.5 8h1.5m10 0h1.5M3.4 3.4l1 1m7.2 7.2 1 1m0-9.2-1 1m-7.2 7.2-1 1" />
  </Icon>
);
export const MoonIcon = () => (
  <Icon>
    <path d="M13 9.6A5.5 5.5 0 0 1 6.4 3a5.5 5.5 0 1 0 6.6 6.6Z" />
  </Icon>
);
export const AutoIcon = () => (
  <Icon>
    <circle cx="8" cy="8" r="5.5" />
    <path d="M8 2.5v11a5.5 5.5 0 0 0 0-11Z" class="icon-fill" />
  </Icon>
);
export const ListIcon = () => (
  <Icon>
    <path d="M5.5 4h8m-8 4h8m-8 4h8M2.5 4h.01m-.01 4h.01m-.01 4h.01" />
  </Icon>
);
export const EditIcon = () => (
  <Icon>
    <path d="M3 13h2.5l7-7L10 3.5l-7 7V13Z" />
  </Icon>
);
export const AnswerIcon = () => (
  <Icon>
    <path d="M13 8H4m3.5-3.5L4 8l3.5 3.5" />
  </Icon>
);
