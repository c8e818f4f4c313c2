/** A part of the page with a heading. */

import type { ComponentChildren } from 'preact';

export function Panel(props: {
  title: string;
  /** What else is known about it, beside the heading. */
  more?: ComponentChildren;
  class?: string;
  children: ComponentChildren;
}) {
  const id = `panel-${props.title.replaceAll(/\W+/g, '-').toLowerCase()}`;
  return (
    <section class={`panel ${props.class ?? ''}`} aria-labelledby={id}>
      <div class="panel-head">
        <h2 id={id}>{props.title}</h2>
        {props.more}
      </div>
      {props.children}
    </section>
  );
}

/** A column heading that sorts. */
export function SortHead<T extends string>(props: {
  column: T;
  by: T;
  isAscending: boolean;
  onSort: (column: T) => void;
  class?: string;
  title?: string;
  children: ComponentChildren;
}) {
  const isChosen = props.column === props.by;
  const direction = props.isAscending ? 'ascending' : 'descending';
  return (
    <th scope="col" class={props.class} title={props.title} aria-sort={isChosen ? direction : 'none'}>
      <button type="button" onClick={() => props.onSort(props.column)}>
        {props.children}
        <span class="sort-mark" aria-hidden="true">
          {isChosen ? (props.isAscending ? '↑' : '↓') : ''}
        </span>
      </button>
    </th>
  );
}
