/** A new import: a file or an address, tried out by a dry run before it changes anything. */
import { Link, useNavigate } from '@tanstack/react-router';
import { useId, useState } from 'react';
import type { ImportProgress } from '../../../api/client.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import { Balance } from '../../parts/balance.tsx';
import { ActionButton } from '../../parts/button.tsx';
import { Field } from '../../parts/field.tsx';
import { useFilters } from '../../parts/filters.ts';
import { Chip, Head } from '../../parts/head.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Panel, Shown } from '../../parts/panel.tsx';
import { Progress } from '../../parts/progress.tsx';
import { Refused } from '../../parts/refusal.tsx';
import { Toggles } from '../../parts/toggles.tsx';
import { bytesText, countText } from '../../parts/values.tsx';
import { fileAddress } from '../../session/api.ts';
import { type InputOf, type ResultOf, useRead } from '../../session/calls.ts';
import { useUpload } from '../../session/upload.ts';
import { DropFile } from './drop-file.tsx';
import { type Format, FormatFields, NO_FORMAT } from './format-fields.tsx';
import { hasEnded, ImportState, rowsText } from './import-state.tsx';

type Source = { kind: 'file'; file: File | null } | { kind: 'address'; url: string };

export function NewImport() {
  const [filters] = useFilters();
  const parentId = filters['redrive_of'];
  const parent = useRead('viewImport', { params: { import_id: parentId ?? '' } }, { isWanted: parentId !== undefined });
  const sors = useRead('listSystemsOfRecords', { query: { secrets: 'false' } });
  return (
    <>
      <Head
        title={parentId === undefined ? 'New import' : 'Send corrected rows'}
        within={{ title: 'Imports', to: '/imports', name: parentId ?? 'new' }}
        facts={
          <span>
            {parentId === undefined
              ? 'A dry run says what the file would do, and changes nothing.'
              : `Rows that come in are settled in ${parentId}. A corrected row never takes the place of a later value.`}
          </span>
        }
      />
      {parentId === undefined ? (
        <Shown result={sors}>{(list) => <Form sors={list} preferred={filters['sor']} />}</Shown>
      ) : (
        <Shown result={parent}>{(job) => <Form sors={sors.data ?? []} parent={job} />}</Shown>
      )}
    </>
  );
}

type Sors = ResultOf<'listSystemsOfRecords'>;

function Form({ sors, preferred, parent }: { sors: Sors; preferred?: string | undefined; parent?: ImportProgress }) {
  const usable = sors.filter(({ type, disabled }) => type === 'custom' && !disabled);
  const [first] = [...usable.filter(({ identifier }) => identifier === preferred), ...usable];
  const [chosen, setChosen] = useState(first?.identifier ?? '');
  const [source, setSource] = useState<Source>({ kind: 'file', file: null });
  const [format, setFormat] = useState<Format>(NO_FORMAT);
  const sorId = parent?.sor?.identifier ?? chosen;
  const sor = sors.find(({ identifier }) => identifier === sorId);
  const isReady = sorId !== '' && (source.kind === 'file' ? source.file !== null : source.url !== '');
  if (parent === undefined && usable.length === 0) return <NoSor />;
  const body: InputOf<'importWithToken'>['body'] = {
    sor_id: sorId,
    ...(parent ? { redrive_of: parent.import_id } : {}),
    ...settingsOf(format),
    ...(source.kind === 'address' ? { file_url: source.url } : {}),
  };
  return (
    <div className="cols">
      <div className="stack">
        <Panel title="What comes in">
          <div className="body">
            {parent === undefined ? (
              <SorField sors={usable} value={chosen} onChange={setChosen} />
            ) : (
              <p className="second">
                Into <b>{parent.sor?.name}</b>. Take{' '}
                <a href={fileAddress('downloadImportErrors', { import_id: parent.import_id })} download>
                  its error file
                </a>
                , correct it, and send it here.
              </p>
            )}
            <SourceFields source={source} onChange={setSource} />
            <FormatFields
              format={format}
              onChange={setFormat}
              keys={sor?.customer_attributes.filter(({ disabled }) => !disabled).map(({ key }) => key) ?? []}
              file={source.kind === 'file' ? source.file : null}
            />
          </div>
        </Panel>
        <Send body={body} file={source.kind === 'file' ? source.file : null} isReady={isReady} parent={parent} />
      </div>
      <aside className="stack">
        <Rules />
        <AsCommand
          operation="importWithToken"
          form={{
            sor_id: sorId,
            ...(parent ? { redrive_of: parent.import_id } : {}),
            dry_run: 'true',
            file: '@values.csv',
          }}
          cli={
            parent
              ? [`millrace redrive ${parent.import_id} errors.csv`]
              : [`millrace import values.csv \\`, `  --sor ${sorId} --dry-run`]
          }
          manual="imports"
        />
      </aside>
    </div>
  );
}

function settingsOf({ delimiter, encoding, decimal, dates, sheet, nullMarker, mapping }: Format) {
  return {
    ...(delimiter === undefined ? {} : { delimiter }),
    ...(encoding === undefined ? {} : { encoding }),
    ...(decimal === undefined ? {} : { decimal }),
    ...(dates === undefined ? {} : { dates }),
    ...(sheet === '' ? {} : { sheet }),
    ...(nullMarker === '' ? {} : { null_marker: nullMarker }),
    ...(mapping === null ? {} : { columns: mapping }),
  };
}

function NoSor() {
  return (
    <p className="note info">
      <Icon name="list" />
      <span>
        An import goes into a System of Records of your own, and there is none yet. <Link to="/sors">Define one</Link>,
        with its attributes, then come back.
      </span>
    </p>
  );
}

function SorField({ sors, value, onChange }: { sors: Sors; value: string; onChange: (identifier: string) => void }) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>System of Records</label>
      <select id={id} className="input" value={value} onChange={({ target }) => onChange(target.value)}>
        {sors.map(({ identifier, name, attributes_count: count }) => (
          <option key={identifier} value={identifier}>
            {name}, {countText(count)} attributes
          </option>
        ))}
      </select>
      <p className="hint">
        <a href={fileAddress('downloadSorTemplate', { sor_identifier: value })} download>
          Template: a CSV file with a row for each attribute
        </a>
      </p>
    </div>
  );
}

function SourceFields({ source, onChange }: { source: Source; onChange: (source: Source) => void }) {
  return (
    <>
      <Toggles
        label="Where the file is"
        choices={[
          { value: 'file', title: 'A file from here' },
          { value: 'address', title: 'A file at an address' },
        ]}
        value={source.kind}
        onChange={(kind) => onChange(kind === 'file' ? { kind, file: null } : { kind, url: '' })}
      />
      {source.kind === 'file' ? (
        <DropFile file={source.file} onChange={(file) => onChange({ kind: 'file', file })} />
      ) : (
        <Field
          label="Address"
          type="url"
          placeholder="https://"
          hint="Millrace fetches it, shows it without its query, and drops it once the file is stored."
          value={source.url}
          onChange={({ target }) => onChange({ kind: 'address', url: target.value })}
        />
      )}
    </>
  );
}

type SendProps = {
  body: InputOf<'importWithToken'>['body'];
  file: File | null;
  isReady: boolean;
  parent: ImportProgress | undefined;
};

/** Sends the dry run, shows what it found, and then the import itself. */
function Send({ body, file, isReady, parent }: SendProps) {
  const navigate = useNavigate();
  const [dryRun, setDryRun] = useState<{ id: string; of: string } | null>(null);
  const { action, sent, cancel } = useUpload({ changes: ['listImportSummaries', 'viewImport'] });
  const of = JSON.stringify([body, file?.name, file?.size, file?.lastModified]);
  const isCurrent = dryRun?.of === of;
  const send = (isDryRun: boolean): void => {
    action.mutate(
      { body: { ...body, dry_run: isDryRun }, ...(file ? { file } : {}) },
      {
        onSuccess: ({ import_id: id }) => {
          if (isDryRun) setDryRun({ id, of });
          else void navigate({ to: `/imports/${id}` });
        },
      },
    );
  };
  return (
    <>
      {action.error && <Refused refusal={action.error} />}
      {action.isPending && sent && (
        <Panel title="Sending">
          <div className="body">
            <Progress
              share={sent.bytes / Math.max(sent.of, 1)}
              label="Sent"
              note={`${bytesText(sent.bytes)} of ${bytesText(sent.of)}`}
            />
            <div>
              <button type="button" className="btn" onClick={cancel}>
                Stop sending
              </button>
            </div>
          </div>
        </Panel>
      )}
      {dryRun && <DryRun id={dryRun.id} isCurrent={isCurrent} />}
      <div className="controls">
        <ActionButton
          operation="importWithToken"
          kind={isCurrent ? '' : 'main'}
          isBusy={!isReady || action.isPending}
          onPress={() => send(true)}
        >
          <Icon name="flask" />
          {isCurrent ? 'Dry run again' : 'Dry run'}
        </ActionButton>
        <ActionButton
          operation="importWithToken"
          kind={isCurrent ? 'main' : ''}
          isBusy={!isReady || action.isPending}
          onPress={() => send(false)}
        >
          {parent ? 'Re-drive' : 'Import'}
        </ActionButton>
        {!isReady && <span className="small quiet">Choose a file first.</span>}
      </div>
    </>
  );
}

function DryRun({ id, isCurrent }: { id: string; isCurrent: boolean }) {
  const result = useRead('viewImport', { params: { import_id: id } }, { pollWhile: (job) => !hasEnded(job) });
  const open = { to: `/imports/${id}`, hash: 'open-rows' };
  return (
    <Shown result={result}>
      {(job) => (
        <>
          <div className="head">
            <h2>What the file would do</h2>
            <ImportState job={job} />
            {!isCurrent && <Chip tone="warn">of the form before you changed it</Chip>}
          </div>
          {job.failure !== null && (
            <p className="note bad">
              <Icon name="crash" />
              {job.failure}
            </p>
          )}
          <Balance
            total={job.rows.read}
            what="rows read"
            parts={[
              { label: 'would come in', count: job.rows.ok, tone: 'ok' },
              { label: 'would be ignored', count: job.rows.ignored, tone: 'neutral', ...open },
              { label: 'would fail', count: job.rows.failed, tone: 'bad', ...open },
            ]}
            note={
              <>
                {Object.entries(job.errors_by_type)
                  .map(([type, count]) => `${type} ${countText(count)}`)
                  .join(', ')}{' '}
                <Link to={`/imports/${id}`}>
                  {job.rows.open === 0 ? 'The dry run' : `The ${rowsText(job.rows.open)} with their reasons`}
                </Link>
              </>
            }
          />
        </>
      )}
    </Shown>
  );
}

function Rules() {
  return (
    <Panel title="What Millrace reads">
      <ul className="body checks-list second">
        <li>CSV or Excel (.xlsx), plain, gzipped or zipped, up to 10 GiB.</li>
        <li>
          A row for each value: <code>user_id,attribute_key,value,action_type</code>. Or a table with a column for each
          attribute.
        </li>
        <li>Delimiter and UTF-16 are found. Decimal commas and other encodings have to be set.</li>
        <li>Nothing is trimmed: a space is a character.</li>
      </ul>
    </Panel>
  );
}
