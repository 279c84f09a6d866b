/** Signed receipts as a person reads them: verified here, downloaded, printed. */
import { useEffect, useState } from 'react';
import type { GdprReceipt } from '../../../domain/gdpr/gdpr-receipt.ts';
import { Icon } from '../../parts/icon.tsx';
import { Empty, Shown } from '../../parts/panel.tsx';
import { DataTable } from '../../parts/table.tsx';
import { bytesText, countText, When } from '../../parts/values.tsx';
import { useRead } from '../../session/calls.ts';
import { peopleText } from './request-state.tsx';
import { useVerdict } from './verdict.tsx';

export function ReceiptsOfRequest({ id }: { id: string }) {
  const found = useRead('listGdprReceipts', { params: { request_id: id } });
  return (
    <Shown result={found}>
      {({ receipts }) =>
        receipts.length === 0 ? (
          <Empty says="There is no receipt of this request." />
        ) : (
          receipts.map((receipt) => <Receipt key={receipt.receipt} receipt={receipt} />)
        )
      }
    </Shown>
  );
}

export function Receipt({ receipt }: { receipt: GdprReceipt }) {
  const { element } = useVerdict(receipt);
  const [isPrinted, setPrinted] = useState(false);
  useEffect(() => {
    if (!isPrinted) return;
    print();
    setPrinted(false);
  }, [isPrinted]);
  return (
    <article className={`body receipt ${isPrinted ? 'printed' : ''}`} aria-label={`Receipt ${receipt.receipt}`}>
      <div className="head">
        <h3>
          {receipt.type === 'erasure' ? 'Erasure' : 'Access'} of {peopleText(receipt.subjects.length)}
        </h3>
        <div className="actions">
          <FileLink receipt={receipt} />
          <button type="button" className="btn" onClick={() => setPrinted(true)}>
            Print
          </button>
        </div>
      </div>
      {element}
      <dl className="terms">
        <Term name="Receipt">
          <code className="wraps">{receipt.receipt}</code>
        </Term>
        <Term name="Request">
          <code className="wraps">{receipt.request}</code>
          {receipt.round > 1 && `, round ${receipt.round}`}
        </Term>
        <Term name="Requested">
          <When at={receipt.requested_at} />
        </Term>
        <Term name="Issued">
          <When at={receipt.issued_at} />
        </Term>
        {receipt.type === 'erasure' && (
          <Term name="Refused since">
            <When at={receipt.tombstones_at} />
          </Term>
        )}
        <Term name="Known by">{idsText(receipt)}</Term>
      </dl>
      {receipt.type === 'erasure' ? <Erasure receipt={receipt} /> : <Access receipt={receipt} />}
    </article>
  );
}

function Term({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function idsText({ subjects }: GdprReceipt): string {
  const sum = (kind: keyof GdprReceipt['subjects'][number]['identifiers']): number =>
    subjects.reduce((all, { identifiers }) => all + identifiers[kind], 0);
  const left = subjects.reduce((all, subject) => all + (subject.left_alone?.length ?? 0), 0);
  const words = (['user_id', 'device_id', 'push_token'] as const)
    .map((kind) => `${countText(sum(kind))} ${kind.replace('_', ' ')}${sum(kind) === 1 ? '' : 's'}`)
    .join(', ');
  return left === 0 ? words : `${words}; ${left} linked ids left alone`;
}

/** Offers the receipt as a file, from what was read: another call would be another entry in the audit log. */
function FileLink({ receipt }: { receipt: GdprReceipt }) {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([JSON.stringify(receipt, null, 2)], { type: 'application/json' }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [receipt]);
  return (
    <a className="btn" href={url} download={`${receipt.receipt}.json`}>
      <Icon name="file" />
      Download
    </a>
  );
}

type Of<T extends GdprReceipt['type']> = Extract<GdprReceipt, { type: T }>;

function Erasure({ receipt: { places, copies, kept, kept_values: values = [] } }: { receipt: Of<'erasure'> }) {
  const named = places.filter(({ erased, survivors }) => erased + survivors > 0);
  const [erased, survivors] = [
    places.reduce((sum, place) => sum + place.erased, 0),
    places.reduce((sum, place) => sum + place.survivors, 0),
  ];
  return (
    <>
      <p>
        <b>{countText(erased)}</b> rows and files erased in {named.length} of {places.length} locations;{' '}
        <b>{countText(survivors)}</b> survivors in the last scan.
      </p>
      <DataTable
        caption="Locations of the receipt"
        columns={[
          { title: 'Location', cell: ({ place }) => <code>{place}</code> },
          { title: 'Erased', isNumber: true, cell: (place) => countText(place.erased) },
          { title: 'Survivors', isNumber: true, cell: (place) => countText(place.survivors) },
        ]}
        rows={named}
        keyOf={({ place }) => place}
        empty={<p className="second">No location had data of these people.</p>}
      />
      <Lines
        title="Copies outside Millrace"
        lines={copies.map(({ kind, id, state, list, reason }) =>
          [`${kind} ${id}: ${COPIES[state]}`, list, reason].filter((word) => word !== null).join('; '),
        )}
      />
      <Lines
        title="What stays, and why"
        lines={[
          ...kept.map(({ place, why, until }) => `${place}: ${why}${until === null ? '' : `, until ${until}`}`),
          ...values.map(
            ({ place, object, key, values: count }) => `${place} ${object}: ${count} values of ${key ?? 'an id'}`,
          ),
        ]}
      />
    </>
  );
}

const COPIES: Record<Of<'erasure'>['copies'][number]['state'], string> = {
  notified: 'a deletion list lies in its bucket',
  not_notified: 'not notified',
  elsewhere: 'delete these people in that system yourself',
};

function Access({ receipt: { places, archives } }: { receipt: Of<'access'> }) {
  const named = places.filter(({ shown }) => shown > 0);
  return (
    <>
      <DataTable
        caption="Locations of the receipt"
        columns={[
          { title: 'Location', cell: ({ place }) => <code>{place}</code> },
          { title: 'Rows and files shown', isNumber: true, cell: ({ shown }) => countText(shown) },
        ]}
        rows={named}
        keyOf={({ place }) => place}
        empty={<p className="second">No location had data of these people.</p>}
      />
      <Lines title="Archives" lines={archives.map(({ sha256, bytes }) => `${bytesText(bytes)}, SHA-256 ${sha256}`)} />
    </>
  );
}

function Lines({ title, lines }: { title: string; lines: readonly string[] }) {
  if (lines.length === 0) return null;
  return (
    <div className="tight">
      <h3>{title}</h3>
      <ul>
        {lines.map((line) => (
          <li key={line} className="small second wraps">
            {line}
          </li>
        ))}
      </ul>
    </div>
  );
}
