/** From where to where a sync copies: a connection and its stream, and a System of Records or another stream. */
import { Link } from '@tanstack/react-router';
import type { Connection, Connector } from '../../../api/client.ts';
import { Audited } from '../../parts/audited.tsx';
import { Panel, Shown } from '../../parts/panel.tsx';
import { Toggles } from '../../parts/toggles.tsx';
import { useRead } from '../../session/calls.ts';
import { type Choice, ChoiceField, NameList, TextField, useStream, useStreams, useSyncForm } from './sync-fields.tsx';

type Side = 'source' | 'destination';
const MEMBERS = {
  source: { connection: 'connection', stream: 'stream' },
  destination: { connection: 'toConnection', stream: 'toStream' },
} as const;

export function SourcePanel() {
  const { draft } = useSyncForm();
  return (
    <Panel title="Source" end={<Link to="/connections/new">New connection</Link>}>
      <div className="body">
        <ConnectionField side="source" />
        {draft.connection !== '' && <StreamField key={draft.connection} side="source" />}
      </div>
    </Panel>
  );
}

export function DestinationPanel() {
  const { draft, change, errorAt } = useSyncForm();
  const stream = useStream(draft.toConnection, 'destination', draft.toStream);
  const wrong = errorAt('destination');
  return (
    <Panel title="Destination">
      <div className="body">
        <Toggles
          label="Where it writes to"
          choices={[
            { value: 'sor', title: 'Attributes of people' },
            { value: 'connection', title: 'Another system' },
          ]}
          value={draft.to}
          onChange={(to) => change({ to })}
        />
        {wrong !== undefined && <b className="wrong small">{wrong}</b>}
        {draft.to === 'sor' ? (
          <SorField />
        ) : (
          <>
            <ConnectionField side="destination" />
            {draft.toConnection !== '' && <StreamField key={draft.toConnection} side="destination" />}
            <NameList
              label="Key (optional)"
              hint="Fields that identify a record in the stream: a record with the same key is replaced."
              error={errorAt('destination.key.*')}
              values={draft.key}
              suggestions={(stream?.fields ?? []).map(({ name }) => name)}
              onChange={(key) => change({ key })}
            />
          </>
        )}
      </div>
    </Panel>
  );
}

function SorField() {
  const sors = useRead('listSystemsOfRecords', { query: { secrets: false } });
  return (
    <Shown result={sors}>
      {(all) => (
        <ChoiceField
          name="sor"
          at="destination.sor"
          label="System of Records"
          hint="It holds the attributes that the fields become."
          choices={all.map(({ identifier, name }) => ({ value: identifier, title: name }))}
        />
      )}
    </Shown>
  );
}

function ConnectionField({ side }: { side: Side }) {
  const { change } = useSyncForm();
  const connections = useRead('listConnections', { query: { per_page: '1000' } });
  const connectors = useRead('listConnectors', {});
  const { connection, stream } = MEMBERS[side];
  return (
    <Shown result={connections}>
      {({ items }) => (
        <ChoiceField
          name={connection}
          at={`${side}.connection`}
          label="Connection"
          choices={fitting(items, connectors.data, side)}
          onChosen={(value) =>
            change({ [connection]: value, [stream]: '', ...(side === 'destination' ? { key: [] } : {}) })
          }
        />
      )}
    </Shown>
  );
}

/** Returns connections whose connector can be this side. */
function fitting(connections: readonly Connection[], connectors: readonly Connector[] = [], side: Side): Choice[] {
  const able = new Set(connectors.filter((connector) => connector[side]).map(({ name }) => name));
  return connections
    .filter(({ connector }) => able.has(connector))
    .map(({ identifier, name }) => ({ value: identifier, title: name }));
}

function StreamField({ side }: { side: Side }) {
  const typed = (
    <TextField
      name={MEMBERS[side].stream}
      at={`${side}.stream`}
      label="Stream"
      hint="A table, a file, a kind of object. Its name, or choose it from its streams."
    />
  );
  return (
    <Audited
      operation="listStreams"
      what="its streams"
      frame={(asks) => (
        <>
          {typed}
          {asks}
        </>
      )}
    >
      {() => <StreamChoice side={side} typed={typed} />}
    </Audited>
  );
}

function StreamChoice({ side, typed }: { side: Side; typed: React.ReactNode }) {
  const { draft, change } = useSyncForm();
  const { connection, stream } = MEMBERS[side];
  const read = useStreams(draft[connection], side, true);
  const choose = (value: string): void => {
    const chosen = read.data?.streams?.find(({ name }) => name === value);
    change({
      [stream]: value,
      ...(side === 'destination' && chosen && draft.key.length === 0 ? { key: chosen.key } : {}),
    });
  };
  return (
    <>
      {read.error && typed}
      <Shown result={read}>
        {({ streams }) =>
          streams === null ? (
            typed
          ) : (
            <ChoiceField
              name={stream}
              at={`${side}.stream`}
              label="Stream"
              choices={streams.map(({ name }) => ({ value: name, title: name }))}
              onChosen={choose}
            />
          )
        }
      </Shown>
    </>
  );
}
