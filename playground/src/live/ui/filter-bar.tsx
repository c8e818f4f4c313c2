/** The fields that choose which calls are listed. */

import { filter, reading } from '../calls.js';
import { EVERYTHING, type Filter, OUTCOMES } from '../filter.js';

export function FilterBar() {
  const read = reading.value;
  const wrong = 'problem' in read ? read.field : undefined;
  const set = (field: keyof Filter, value: string) => {
    const next = { ...filter.value, [field]: value };
    filter.value = Object.values(next).every((text) => text === '') ? EVERYTHING : next;
  };
  const isSet = filter.value !== EVERYTHING;
  return (
    <form class="filter" role="search" aria-label="Filter calls" onSubmit={(event) => event.preventDefault()}>
      <Field name="method" label="Method" placeholder="math/*" isWrong={wrong === 'method'} onSet={set} />
      <Field name="who" label="Caller" placeholder="anyone" isWrong={false} onSet={set} />
      <label>
        <span>Outcome</span>
        <select aria-label="Outcome" value={filter.value.outcome} onChange={(event) => set('outcome', event.currentTarget.value)}>
          {OUTCOMES.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      </label>
      <Field name="slowerThan" label="Slower than" placeholder="100ms" isWrong={wrong === 'slowerThan'} onSet={set} />
      <button type="button" class="quiet small" disabled={!isSet} onClick={() => (filter.value = EVERYTHING)}>
        Clear
      </button>
      <p class="filter-problem" id="filter-problem" role="alert">
        {'problem' in read ? read.problem : ''}
      </p>
    </form>
  );
}

function Field(props: {
  name: 'method' | 'who' | 'slowerThan';
  label: string;
  placeholder: string;
  isWrong: boolean;
  onSet: (field: keyof Filter, value: string) => void;
}) {
  return (
    <label>
      <span>{props.label}</span>
      <input
        type="text"
        spellcheck={false}
        autocomplete="off"
        autocapitalize="off"
        placeholder={props.placeholder}
        value={filter.value[props.name]}
        aria-invalid={props.isWrong}
        {...(props.isWrong ? { 'aria-describedby': 'filter-problem' } : {})}
        onInput={(event) => props.onSet(props.name, event.currentTarget.value)}
      />
    </label>
  );
}
