/** Controls that are used all over the page. */

import type { ComponentChildren, TargetedKeyboardEvent } from 'preact';
import { useRef } from 'preact/hooks';

interface Choice<T extends string> {
  readonly value: T;
  readonly label: string;
  readonly hint?: string;
}

/** A few choices of which one holds, side by side. */
export function Segmented<T extends string>(props: {
  label: string;
  choices: readonly Choice<T>[];
  value: T;
  onChoose: (value: T) => void;
}) {
  const name = props.label.replaceAll(' ', '-').toLowerCase();
  return (
    <div class="segmented" role="radiogroup" aria-label={props.label}>
      {props.choices.map(({ value, label, hint }) => (
        <label key={value} title={hint}>
          <input type="radio" name={name} checked={value === props.value} onChange={() => props.onChoose(value)} />
          <span>{label}</span>
        </label>
      ))}
    </div>
  );
}

/** Tabs, of which the arrow keys choose one. */
export function Tabs<T extends string>(props: {
  label: string;
  tabs: readonly Choice<T>[];
  value: T;
  onChoose: (value: T) => void;
  panel: string;
}) {
  const list = useRef<HTMLDivElement>(null);
  const move = (event: TargetedKeyboardEvent<HTMLDivElement>) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const at = props.tabs.findIndex((tab) => tab.value === props.value);
    const next = (at + step + props.tabs.length) % props.tabs.length;
    props.onChoose(props.tabs[next]!.value);
    list.current?.querySelectorAll<HTMLElement>('[role=tab]')[next]?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={props.label} ref={list} onKeyDown={move}>
      {props.tabs.map(({ value, label }) => (
        <button
          key={value}
          type="button"
          role="tab"
          aria-selected={value === props.value}
          aria-controls={props.panel}
          tabIndex={value === props.value ? 0 : -1}
          onClick={() => props.onChoose(value)}
        >
          {label}
        </button>
      ))}
    </div>
  );
}

/** A button with a drawing and a name that is read, not seen. */
export function IconButton(props: { label: string; onClick: () => void; children: ComponentChildren; pressed?: boolean; class?: string }) {
  return (
    <button
      type="button"
      class={`icon-button ${props.class ?? ''}`}
      aria-label={props.label}
      title={props.label}
      onClick={props.onClick}
      {...(props.pressed === undefined ? {} : { 'aria-pressed': props.pressed })}
    >
      {props.children}
    </button>
  );
}

/** Where nothing is yet: what would be here, and how it comes. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}
