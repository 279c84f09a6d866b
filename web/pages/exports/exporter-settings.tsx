/** An exporter's settings without its secrets, the policy of its bucket, and its lists of erased people. */
import { useState } from 'react';
import type { DeletionList, ViewedDataExporter } from '../../../api/client.ts';
import { CopyButton } from '../../parts/as-command.tsx';
import { ActionButton } from '../../parts/button.tsx';
import { Chip } from '../../parts/head.tsx';
import { Empty, Panel, Shown } from '../../parts/panel.tsx';
import { DataTable } from '../../parts/table.tsx';
import { bytesText, Count, Id, When } from '../../parts/values.tsx';
import { useList, useRead } from '../../session/calls.ts';
import { ChangeExporter } from './change-exporter.tsx';

export function Settings({ exporter }: { exporter: ViewedDataExporter }) {
  const [isChanging, setChanging] = useState(false);
  const access =
    exporter.type === 'aws_account_id'
      ? `role ${exporter.aws_role_name ?? '–'} of account ${exporter.aws_account_id ?? '–'}`
      : 'an access key';
  const encrypted = [exporter.encryption_type, exporter.server_side_encryption ?? ''].filter((each) => each !== '');
  const facts: [string, React.ReactNode][] = [
    ['Access', access],
    ['Region', exporter.aws_region],
    ['Endpoint', exporter.endpoint ?? 'Amazon S3'],
    ['Apps', exporter.apps.map(({ name }) => name).join(', ')],
    ['Sources', exporter.sors.map(({ name }) => name).join(', ') || 'none'],
    ['Format', `${exporter.format}${exporter.include_headers ? ', with column names' : ''}`],
    ['File size', `up to ${bytesText(exporter.part_bytes)} before compression`],
    ['Encryption', encrypted.join(', ') || 'none of its own'],
    ['Data from', exporter.export_since === null ? 'the beginning' : <When at={exporter.export_since} />],
    ['Zone', exporter.time_zone],
    ['Mails to', exporter.notify_emails.join(', ') || 'its creator'],
    ['Changed', <When at={exporter.updated_at} />],
  ];
  return (
    <Panel
      title="Settings"
      end={
        <ActionButton operation="updateDataExporter" onPress={() => setChanging(true)}>
          Change
        </ActionButton>
      }
    >
      <dl className="pairs">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <p className="body small quiet">Secrets are stored encrypted, and not shown here.</p>
      {isChanging && <ChangeExporter exporter={exporter} onClose={() => setChanging(false)} />}
    </Panel>
  );
}

export function Policy({ id }: { id: string }) {
  const [isAsked, setAsked] = useState(false);
  const policy = useRead('viewDataExporterPolicy', { params: { exporter_id: id } }, { isWanted: isAsked });
  return (
    <Panel title="The bucket's policy">
      {isAsked ? (
        <Shown result={policy}>
          {(shown) => (
            <div className="body">
              <Json title="Rights of the key or the role" value={shown.policy} />
              {shown.trust_policy !== null && <Json title="Who may assume the role" value={shown.trust_policy} />}
              {shown.role_name !== null && (
                <p className="small second">
                  External id <Id value={shown.external_id} />
                </p>
              )}
            </div>
          )}
        </Shown>
      ) : (
        <div className="body">
          <p className="second">The fewest rights that the exporter needs in AWS.</p>
          <div>
            <button type="button" className="btn" onClick={() => setAsked(true)}>
              Show the policy
            </button>
          </div>
        </div>
      )}
    </Panel>
  );
}

function Json({ title, value }: { title: string; value: object }) {
  const text = JSON.stringify(value, null, 2);
  return (
    <div className="tight">
      <div className="facts">
        <h3>{title}</h3>
        <CopyButton text={text} />
      </div>
      <pre className="cmd" tabIndex={0} role="group" aria-label={title}>
        {text}
      </pre>
    </div>
  );
}

export function DeletionLists({ id }: { id: string }) {
  const lists = useList('listDeletionLists', { params: { exporter_id: id }, query: { per_page: 100 } });
  return (
    <Panel title="Deletion lists">
      <DataTable
        caption="Lists of erased people in the bucket, newest first"
        columns={[
          { title: 'Made', cell: ({ created_at }) => <When at={created_at} /> },
          { title: 'Request', cell: (list) => <code>{list.request}</code> },
          { title: 'Ids', isNumber: true, cell: ({ identifiers }) => <Count value={identifiers} /> },
          { title: 'State', cell: (list) => <ListState list={list} /> },
          { title: 'Key', cell: ({ key }) => (key === null ? <span className="quiet">–</span> : <code>{key}</code>) },
        ]}
        rows={lists.data?.pages.flatMap(({ items }) => items) ?? []}
        keyOf={({ identifier }) => identifier}
        empty={
          <Empty says="No list. When a person is erased, the bucket gets one, so that you can delete their rows there." />
        }
        more={lists}
      />
    </Panel>
  );
}

const WORDS = {
  pending: ['info', 'waits'],
  notified: ['ok', 'in the bucket'],
  not_notified: ['bad', 'not in the bucket'],
} as const;

function ListState({ list: { state, fault } }: { list: DeletionList }) {
  const [tone, word] = WORDS[state];
  return (
    <>
      <Chip tone={tone}>{word}</Chip> {fault}
    </>
  );
}
