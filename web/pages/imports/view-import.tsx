/** One import: whether every row arrived, what is open, and what happened. */
import { Link, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { ImportProgress } from '../../../api/client.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import { Balance } from '../../parts/balance.tsx';
import { ConfirmButton } from '../../parts/confirm.tsx';
import { Head } from '../../parts/head.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Panel, Shown } from '../../parts/panel.tsx';
import { Progress } from '../../parts/progress.tsx';
import { bytesText, countText, durationText, When } from '../../parts/values.tsx';
import { fileAddress } from '../../session/api.ts';
import { useAction, useRead } from '../../session/calls.ts';
import { fileName, hasEnded, ImportState, rowsText } from './import-state.tsx';
import { ImportTimeline } from './import-timeline.tsx';
import { OpenRows } from './open-rows.tsx';

const KEPT_MS = 7 * 24 * 3_600_000;

export function ViewImport() {
  const { id = '' }: { id?: string } = useParams({ strict: false });
  const result = useRead('viewImport', { params: { import_id: id } }, { pollWhile: isMoving });
  return (
    <Shown result={result} head={<Head title="Import" within={{ title: 'Imports', to: '/imports', name: id }} />}>
      {(job) => <Import key={job.import_id} job={job} />}
    </Shown>
  );
}

function isMoving(job: ImportProgress): boolean {
  return !hasEnded(job) || job.mail?.state === 'sending' || job.redrives.some((redrive) => !hasEnded(redrive));
}

function Import({ job }: { job: ImportProgress }) {
  const { import_id: id, rows, sor, source } = job;
  return (
    <>
      <Head
        title={
          fileName(source.url) ??
          (job.parent_id === null ? `Upload${sor ? ` into ${sor.name}` : ''}` : 'Corrected rows')
        }
        within={{ title: 'Imports', to: '/imports', name: id }}
        state={<ImportState job={job} />}
        actions={<Actions job={job} />}
        facts={<Facts job={job} />}
      />
      <Notes job={job} />
      {!hasEnded(job) && <Running job={job} />}
      <Balance
        total={rows.read}
        what={job.state === 'finished' ? 'rows in the file' : 'rows read'}
        parts={[
          { label: 'ok', count: rows.ok, tone: 'ok' },
          {
            label: job.columns === null ? 'ignored: no such attribute' : 'ignored: empty, or no such attribute',
            count: rows.ignored,
            tone: 'neutral',
            to: `/imports/${id}`,
            hash: 'open-rows',
          },
          { label: 'failed', count: rows.failed, tone: 'bad', to: `/imports/${id}`, hash: 'open-rows' },
        ]}
        note={<OpenNote job={job} />}
      />
      {(job.failure === null || rows.open > 0) && <OpenRows job={job} />}
      <div className="cols">
        <ImportTimeline job={job} />
        <AsCommand
          operation="downloadImportErrors"
          params={{ import_id: id }}
          cli={[`millrace errors ${id} \\`, '  --csv --output errors.csv', `millrace redrive ${id} \\`, '  errors.csv']}
          manual="imports"
        />
      </div>
    </>
  );
}

function Actions({ job }: { job: ImportProgress }) {
  const { import_id: id, rows } = job;
  const cancel = useAction('cancelImport', { changes: ['viewImport', 'listImportSummaries'] });
  return (
    <>
      {rows.open > 0 && (
        <a
          className="btn"
          href={fileAddress('downloadImportErrors', { import_id: id })}
          download
          title="Reading these rows is written into the audit log"
        >
          <Icon name="file" />
          errors.csv
        </a>
      )}
      {rows.open > 0 && hasEnded(job) && !job.dry_run && (
        <Link className="btn" to="/imports/new" search={{ redrive_of: id } as never}>
          <Icon name="import" />
          Send corrected file
        </Link>
      )}
      {(job.state === 'failed' || job.state === 'canceled') && (
        <Link className="btn" to="/imports/new">
          <Icon name="import" />
          Import again
        </Link>
      )}
      {!hasEnded(job) && (
        <ConfirmButton
          operation="cancelImport"
          title="Cancel this import?"
          says={`The ${rowsText(rows.ok)} that came in stay. The rows after them are not read, and the stored file is deleted.`}
          yes="Cancel the import"
          sent={cancel}
          onYes={(options) => cancel.mutate({ params: { import_id: id } }, options)}
        >
          Cancel the import
        </ConfirmButton>
      )}
    </>
  );
}

const NAMES = { ',': 'commas', ';': 'semicolons', '\t': 'tabs', '|': 'bars' } as const;

function Facts({ job: { sor, source, file, parent_id: parent, ended_at: ended, columns } }: { job: ImportProgress }) {
  return (
    <>
      <span>
        into {sor === null ? 'a deleted System of Records' : <Link to={`/sors/${sor.identifier}`}>{sor.name}</Link>}
      </span>
      <span>
        {source.bytes !== null && <b className="n">{bytesText(source.bytes)} </b>}
        {file && formatText(file)}
      </span>
      {source.sha256 !== null && (
        <span title={source.sha256}>
          SHA-256{' '}
          <code>
            {source.sha256.slice(0, 4)}…{source.sha256.slice(-4)}
          </code>
        </span>
      )}
      {columns !== null && <span>a table of {Object.keys(columns.attributes).length} mapped columns</span>}
      {parent !== null && (
        <span>
          re-drives{' '}
          <Link className="mono" to={`/imports/${parent}`}>
            {parent}
          </Link>
        </span>
      )}
      {ended !== null && (
        <span>
          kept until <When at={Date.parse(ended) + KEPT_MS} />
        </span>
      )}
    </>
  );
}

function formatText({ format, delimiter, encoding, decimal, sheet }: NonNullable<ImportProgress['file']>): string {
  if (format === 'xlsx') return `Excel, sheet ${sheet ?? 'unnamed'}`;
  return `CSV, ${NAMES[delimiter]}, ${encoding.toUpperCase()}${decimal === ',' ? ', decimal comma' : ''}`;
}

function Notes({ job }: { job: ImportProgress }): ReactNode {
  const { failure, defect, internal_error: internal, suspicious_ids: suspicious, similar_ids: similar, columns } = job;
  const ignored = columns?.ignored ?? [];
  const notes: (readonly [tone: 'bad' | 'warn' | 'info', text: string])[] = [
    ...(failure === null ? [] : [['bad', `The file could not be imported: ${failure}`] as const]),
    ...(defect === null ? [] : [['warn', `The end of the file could not be read: ${defect}`] as const]),
    ...(internal === null
      ? []
      : [
          [
            'warn',
            `Millrace has a fault in the step ${internal.step}, and tries it again. Its id in the logs is ${internal.id}.`,
          ] as const,
        ]),
    ...(suspicious === 0
      ? []
      : [
          [
            'warn',
            `${rowsText(suspicious)} came in under an id that is probably a mistake, such as “undefined” or “null”.`,
          ] as const,
        ]),
    ...(similar === null || similar.count === 0
      ? []
      : [
          [
            'warn',
            `${countText(similar.count)} ids differ from another only in capitals or composed letters, and would become people ` +
              `of their own: ${similar.examples.map(({ line }) => `line ${line}`).join(', ')}.`,
          ] as const,
        ]),
    ...(ignored.length === 0 ? [] : [['info', `Columns that nothing maps: ${ignored.join(', ')}.`] as const]),
  ];
  return notes.map(([tone, text]) => (
    <p key={text} className={`note ${tone}`}>
      <Icon name={tone === 'info' ? 'list' : 'crash'} />
      <span>{text}</span>
    </p>
  ));
}

function Running({ job }: { job: ImportProgress }) {
  const { source, fetch, fetched_bytes: fetched, bytes_read: read, rate, expected_end_at: end, stage } = job;
  const size = source.decompressed_bytes;
  return (
    <Panel title={stage === null ? 'Running' : `Waiting: ${stage}`}>
      <div className="body">
        {size === null ? (
          <p className="second">
            Fetching the file: {bytesText(fetched ?? 0)} so far
            {fetch !== null && fetch.tries > 1 && `, try ${fetch.tries}`}.{fetch?.fault && ` ${fetch.fault}`}
          </p>
        ) : (
          <Progress
            share={Math.min(1, read / Math.max(size, 1))}
            label="Read"
            note={
              <>
                {bytesText(read)} of {bytesText(size)}
                {rate !== null && `, ${countText(Math.round(rate))} rows a second`}
                {end !== null && `, about ${durationText(Math.max(0, Date.parse(end) - Date.now()))} left`}
              </>
            }
          />
        )}
      </div>
    </Panel>
  );
}

function OpenNote({ job }: { job: ImportProgress }) {
  const { rows, columns, state, dry_run: isDryRun } = job;
  const refused = rows.ignored + rows.failed - (columns?.empty_cells ?? 0);
  if (refused === 0 && state === 'failed')
    return rows.read === 0
      ? 'No row was read: nothing came in.'
      : 'These rows came in. The rows after them were not read.';
  if (refused === 0 && state === 'canceled') return 'These rows came in before it was canceled.';
  if (refused === 0 && !hasEnded(job)) return 'Every row so far came in.';
  if (refused === 0) return isDryRun ? 'Every row would come in.' : 'Every row came in.';
  const settled = refused - rows.open;
  return (
    <>
      {settled > 0 && (
        <>
          <b className="second n">{countText(settled)}</b> of the {rowsText(refused)} that changed nothing came in by a
          re-drive since;{' '}
        </>
      )}
      <b className="second n">{countText(rows.open)}</b> {rows.open === 1 ? 'is' : 'are'} open. Parts under 1 % are
      drawn wider than they are.
    </>
  );
}
