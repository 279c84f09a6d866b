/** The streams of a connection, with their fields. */
import { useState } from 'react';
import type { SourceStream } from '../../../api/client.ts';
import { Empty, Shown } from '../../parts/panel.tsx';
import { type Column, DataTable } from '../../parts/table.tsx';
import { Count } from '../../parts/values.tsx';
import { useRead } from '../../session/calls.ts';

const COLUMNS: readonly Column<SourceStream>[] = [
  { title: 'Stream', cell: ({ name }) => <code>{name}</code> },
  { title: 'Key', cell: ({ key, keys }) => keyText(keys ?? [key]) || <span className="quiet">none</span> },
  { title: 'New records by', cell: ({ incremental }) => cursorText(incremental) },
  { title: 'Fields', cell: (stream) => <Fields stream={stream} /> },
];

/** Returns the keys by which records are found, each of one or more fields. */
const keyText = (keys: string[][]): string => keys.map((key) => key.join(', ')).join(' or ');

function cursorText(incremental: SourceStream['incremental']): string {
  if (incremental === 'own') return 'the state that the source keeps';
  const { fields } = incremental;
  return fields.length === 0 ? 'none: full syncs only' : fields.join(', ');
}

function Fields({ stream: { fields } }: { stream: SourceStream }) {
  return (
    <details>
      <summary>
        <Count value={fields.length} /> fields
      </summary>
      <ul>
        {fields.map(({ name, type, nullable, takes_values }) => (
          <li key={name}>
            <code>{name}</code> {type}
            {nullable && ', may be empty'}
            {takes_values === 'never' && ', takes no values'}
            {takes_values === 'as_key' && ', takes values as part of the key alone'}
          </li>
        ))}
      </ul>
    </details>
  );
}

export function Streams({ id }: { id: string }) {
  const [text, setText] = useState('');
  const result = useRead('listStreams', { params: { connection_id: id } });
  return (
    <Shown result={result}>
      {({ streams }) =>
        streams === null ? (
          <Empty says="This destination takes any stream: the sync names it." />
        ) : (
          <>
            {streams.length > 10 && (
              <div className="body">
                <input
                  className="input"
                  data-filter
                  aria-label="Filter the streams"
                  placeholder="Filter the streams"
                  value={text}
                  onChange={({ target }) => setText(target.value)}
                />
              </div>
            )}
            <DataTable
              caption="Streams"
              columns={COLUMNS}
              rows={streams.filter(({ name }) => name.toLowerCase().includes(text.toLowerCase()))}
              keyOf={({ name }) => name}
              empty={
                <Empty
                  says={
                    streams.length > 0
                      ? 'No stream has this in its name.'
                      : 'No streams. The user of the settings may see none, or the schema is empty.'
                  }
                />
              }
            />
          </>
        )
      }
    </Shown>
  );
}
