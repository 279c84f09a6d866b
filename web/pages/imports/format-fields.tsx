/** Settings of a file that it does not tell by itself, and the columns of a table. */
import { type ReactNode, useEffect, useId, useState } from 'react';
import { Field } from '../../parts/field.tsx';
import { ownOf } from '../../parts/text-of.ts';
import { DELIMITERS, ENCODINGS } from '../../../domain/csv/csv-bytes.ts';

export type Format = {
  delimiter?: (typeof DELIMITERS)[number];
  encoding?: (typeof ENCODINGS)[number];
  decimal?: '.' | ',';
  dates?: 'strict' | 'lenient';
  sheet: string;
  nullMarker: string;
  mapping: { customer: string; attributes: Record<string, string> } | null;
};

export const NO_FORMAT: Format = { sheet: '', nullMarker: '', mapping: null };

const DELIMITER_NAMES = { ',': 'comma', ';': 'semicolon', '\t': 'tab', '|': 'bar' } as const;

export function FormatFields({
  format,
  onChange,
  keys,
  file,
}: {
  format: Format;
  onChange: (format: Format) => void;
  /** Keys of the attributes that the file may bring. */
  keys: readonly string[];
  file: File | null;
}) {
  const change = (changed: Partial<Format>): void => onChange({ ...format, ...changed });
  return (
    <>
      <TableFields format={format} onChange={change} keys={keys} file={file} />
      <details>
        <summary>How the file is read</summary>
        <div className="two">
          <Choice
            label="Delimiter"
            value={format.delimiter}
            onChange={(delimiter) => change({ delimiter })}
            otherwise="found in the header"
          >
            {DELIMITERS.map((value) => [value, DELIMITER_NAMES[value]])}
          </Choice>
          <Choice
            label="Encoding"
            value={format.encoding}
            onChange={(encoding) => change({ encoding })}
            otherwise="UTF-8, or by its mark"
          >
            {ENCODINGS.map((value) => [value, value])}
          </Choice>
          <Choice
            label="Decimal mark"
            value={format.decimal}
            onChange={(decimal) => change({ decimal })}
            otherwise="point"
          >
            {[[',', 'comma']]}
          </Choice>
          <Choice label="Dates" value={format.dates} onChange={(dates) => change({ dates })} otherwise="strict">
            {[['lenient', 'lenient: a midnight is a day, too']]}
          </Choice>
          <Field
            label="Empty cells are written as"
            value={format.nullMarker}
            onChange={({ target }) => change({ nullMarker: target.value })}
          />
          <Field
            label="Sheet of an Excel file"
            value={format.sheet}
            onChange={({ target }) => change({ sheet: target.value })}
          />
        </div>
      </details>
    </>
  );
}

function Choice<T extends string>({
  label,
  value,
  onChange,
  otherwise,
  children,
}: {
  label: string;
  value: T | undefined;
  onChange: (value: T | undefined) => void;
  /** Says what holds if nothing is chosen. */
  otherwise: string;
  children: readonly (readonly [value: T, title: string])[];
}) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select
        id={id}
        className="input"
        value={value ?? ''}
        onChange={({ target }) => onChange(children.find(([each]) => each === target.value)?.[0])}
      >
        <option value="">{otherwise}</option>
        {children.map(([each, title]) => (
          <option key={each} value={each}>
            {title}
          </option>
        ))}
      </select>
    </div>
  );
}

const HEADER_BYTES = 64 * 1024;

/** Returns the names of the first line of a CSV file; none if it does not look like one. */
async function headerOf(file: File, set: Format['delimiter']): Promise<string[]> {
  const text = (await file.slice(0, HEADER_BYTES).text()).replace(/^\u{feff}/u, '');
  const [line = ''] = text.split(/\r?\n/, 1);
  // A compressed file, or a workbook.
  if (Array.from(line).some((each) => each < '\t' || each === '\u{fffd}')) return [];
  const counts = DELIMITERS.map((each) => [each, line.split(each).length] as const);
  const delimiter = set ?? counts.toSorted(([, one], [, other]) => other - one)[0]![0];
  return line.split(delimiter).map((name) => name.trim().replace(/^"(.*)"$/, '$1'));
}

function TableFields({
  format: { mapping, delimiter },
  onChange,
  keys,
  file,
}: {
  format: Format;
  onChange: (changed: Partial<Format>) => void;
  keys: readonly string[];
  file: File | null;
}): ReactNode {
  const [names, setNames] = useState<readonly string[]>([]);
  useEffect(() => {
    let isGone = false;
    const read = file === null ? Promise.resolve([]) : headerOf(file, delimiter);
    void read.then((found) => {
      if (!isGone) setNames(found);
    });
    return () => {
      isGone = true;
    };
  }, [file, delimiter]);
  const isTable = mapping !== null;
  const hasRows = names.includes('attribute_key') || names.length < 2;
  if (!isTable && hasRows) return null;
  return (
    <fieldset className="stack mapping">
      <label>
        <input
          type="checkbox"
          checked={isTable}
          onChange={({ target }) => onChange({ mapping: target.checked ? guessed(names, keys) : null })}
        />{' '}
        It is a table with a column for each attribute
      </label>
      {isTable && (
        <Mapping names={names} keys={keys} mapping={mapping} onChange={(changed) => onChange({ mapping: changed })} />
      )}
    </fieldset>
  );
}

const IDS = /^(?:user_?id|customer_?id|id|e-?mail)$/i;

/** Returns a mapping by names: a column that has the key of an attribute is that attribute. */
function guessed(names: readonly string[], keys: readonly string[]): NonNullable<Format['mapping']> {
  const customer = names.find((name) => IDS.test(name)) ?? names[0] ?? '';
  const pairs = names.flatMap((name) => (name !== customer && keys.includes(name) ? [[name, name]] : []));
  return { customer, attributes: Object.fromEntries(pairs) };
}

function Mapping({
  names,
  keys,
  mapping: { customer, attributes },
  onChange,
}: {
  names: readonly string[];
  keys: readonly string[];
  mapping: NonNullable<Format['mapping']>;
  onChange: (mapping: NonNullable<Format['mapping']>) => void;
}) {
  return (
    <>
      <div className="field">
        <label htmlFor="mapping-customer">Column with the customer ids</label>
        <select
          id="mapping-customer"
          className="input"
          value={customer}
          onChange={({ target }) => onChange({ customer: target.value, attributes: without(attributes, target.value) })}
        >
          {names.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </div>
      <div className="two">
        {names
          .filter((name) => name !== customer && name !== '')
          .map((name) => (
            <div className="field" key={name}>
              <label htmlFor={`mapping-${name}`}>{name}</label>
              <select
                id={`mapping-${name}`}
                className="input"
                value={ownOf(attributes, name) ?? ''}
                onChange={({ target }) =>
                  onChange({
                    customer,
                    attributes:
                      target.value === '' ? without(attributes, name) : { ...attributes, [name]: target.value },
                  })
                }
              >
                <option value="">not read</option>
                {keys.map((key) => (
                  <option key={key}>{key}</option>
                ))}
              </select>
            </div>
          ))}
      </div>
    </>
  );
}

function without(attributes: Record<string, string>, name: string): Record<string, string> {
  return Object.fromEntries(Object.entries(attributes).filter(([each]) => each !== name));
}
