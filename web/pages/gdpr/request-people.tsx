/** The people of a request by name: an audited look, never repeated by itself. */
import type { GdprRequest } from '../../../api/client.ts';
import { Chip } from '../../parts/head.tsx';
import { Empty, Shown } from '../../parts/panel.tsx';
import { PersonLink } from '../../parts/person-link.tsx';
import { DataTable } from '../../parts/table.tsx';
import { ownOf } from '../../parts/text-of.ts';
import { countText, When } from '../../parts/values.tsx';
import { useRead } from '../../session/calls.ts';

export function RequestPeople({ id }: { id: string }) {
  const viewed = useRead('viewGdprRequest', { params: { request_id: id } });
  return (
    <Shown result={viewed}>
      {(request) => (
        <>
          <People request={request} />
          <WouldErase request={request} />
          <KeptValues request={request} />
          <footer>
            <span>
              As of <When at={viewed.dataUpdatedAt} />
            </span>
            <button
              type="button"
              className="btn plain"
              disabled={viewed.isFetching}
              onClick={() => void viewed.refetch()}
            >
              Look again (one more entry)
            </button>
          </footer>
        </>
      )}
    </Shown>
  );
}

type Person = { id: string; result: string | null; hold: string | null; similar: readonly string[] };

function People({ request }: { request: GdprRequest }) {
  const { user_ids: ids, download_urls: urls, waiting, similar_ids: similar } = request;
  const people = Object.entries(ids ?? urls ?? {}).map(([id, result]): Person => ({
    id,
    result,
    hold: ownOf(waiting, id) ?? null,
    similar: ownOf(similar, id) ?? [],
  }));
  return (
    <DataTable
      caption="People of the request"
      columns={[
        { title: 'Id', cell: ({ id }) => <PersonLink id={id} /> },
        { title: 'Result', cell: (person) => <Result person={person} /> },
        {
          title: 'Similar ids',
          cell: ({ similar: others }) =>
            others.length === 0 ? (
              <span className="quiet">–</span>
            ) : (
              <span title="Left alone: they differ only in capitals or composed letters. If it is the same person, make a request for them, too.">
                <Chip tone="warn">left alone</Chip> <code>{others.join(', ')}</code>
              </span>
            ),
        },
      ]}
      rows={people}
      keyOf={({ id }) => id}
      empty={<Empty says="No person is named any more: they were erased meanwhile." />}
    />
  );
}

function Result({ person: { result, hold } }: { person: Person }) {
  if (hold !== null)
    return (
      <>
        <Chip tone="warn">waits</Chip> {hold}
      </>
    );
  if (result === null) return <span className="quiet">pending</span>;
  return URL.canParse(result) ? (
    <a href={result} download>
      Archive (ZIP)
    </a>
  ) : (
    result
  );
}

function WouldErase({ request: { would_erase: counts } }: { request: GdprRequest }) {
  if (!counts) return null;
  return (
    <div className="body">
      <h3>An approval would erase now</h3>
      <DataTable
        caption="Rows and files that an approval would erase"
        columns={[
          { title: 'Location', cell: ([name]) => <code>{name}</code> },
          {
            title: 'Rows and files',
            isNumber: true,
            cell: ([, count]) => (count === null ? 'too much to search' : countText(count)),
          },
        ]}
        rows={Object.entries(counts).filter(([, count]) => count !== 0)}
        keyOf={([name]) => name}
        empty={<Empty says="Nothing: no location has data of this device." />}
      />
    </div>
  );
}

function KeptValues({ request: { kept_values: values } }: { request: GdprRequest }) {
  if (!values || values.length === 0) return null;
  return (
    <div className="body">
      <h3>Values that stayed, since they may mean anything</h3>
      <DataTable
        caption="Values of filters that equal an id and stayed"
        columns={[
          { title: 'Where', cell: ({ place, object }) => `${place} ${object}` },
          { title: 'Of', cell: ({ on, key }) => (key === null ? on : `${on}, ${key}`) },
          { title: 'Values', isNumber: true, cell: ({ values: count }) => countText(count) },
        ]}
        rows={values}
        keyOf={({ place, object, on, key }) => [place, object, on, key].join(' ')}
        empty={null}
      />
    </div>
  );
}
