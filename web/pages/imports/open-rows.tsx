/** Open rows of an import: by type of error, corrected in the page, and sent again. */
import { Link } from '@tanstack/react-router';
import { useCallback, useMemo, useState } from 'react';
import type { ImportProgress } from '../../../api/client.ts';
import { Audited } from '../../parts/audited.tsx';
import { ActionButton } from '../../parts/button.tsx';
import { ErrorGrid, type GridRow } from '../../parts/error-grid.tsx';
import { FilterToggles } from '../../parts/filter-toggles.tsx';
import { useFilters } from '../../parts/filters.ts';
import { Chip } from '../../parts/head.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Empty, Panel, Shown } from '../../parts/panel.tsx';
import { Refused as RefusedNote } from '../../parts/refusal.tsx';
import { countText } from '../../parts/values.tsx';
import { type ResultOf, useAction, useRead } from '../../session/calls.ts';
import { columnsOf, correctedFile, type Refused, refusedOf, sharedMistakes, wrongCell } from './corrections.ts';
import { hasEnded, rowsText } from './import-state.tsx';
import { SentRows } from './sent-rows.tsx';

/** Rows of the grid at once; more of them are corrected sooner in the error file. */
const GRID_ROWS = 100;

export function OpenRows({ job }: { job: ImportProgress }) {
  const [filters] = useFilters();
  const { open_by_type: byType, rows } = job;
  const chosen = Object.keys(job.errors_by_type).find((name) => name === filters['type']);
  // It stays when its last row is settled meanwhile: another type would be another look, without a press.
  const counts = { ...byType, ...(chosen === undefined ? {} : { [chosen]: byType[chosen] ?? 0 }) };
  const types = Object.entries(counts).toSorted(([, one], [, other]) => other - one);
  const type = chosen ?? 'all';
  return (
    <div id="open-rows">
      <Panel
        title={
          <>
            Open rows <Chip tone={rows.open === 0 ? 'ok' : 'bad'}>{countText(rows.open)}</Chip>
          </>
        }
      >
        {rows.open === 0 ? (
          <Empty says={hasEnded(job) ? 'No row is open.' : 'No row is open so far.'} />
        ) : (
          <>
            <div className="body filters-body">
              <FilterToggles
                name="type"
                label="Type of error"
                value={type}
                options={[
                  { value: 'all', title: 'All', count: rows.open },
                  ...types.map(([value, count]) => ({ value, count })),
                ]}
              />
            </div>
            <Audited operation="listImportErrors" what="these rows">
              {() => <Corrections job={job} type={type} />}
            </Audited>
          </>
        )}
      </Panel>
    </div>
  );
}

/** Corrected texts by row; they stay when another type of error is shown. */
type Edits = ReadonlyMap<string, { row: Refused; cells: readonly string[] }>;

function Corrections({ job, type }: { job: ImportProgress; type: string }) {
  const [edits, setEdits] = useState<Edits>(new Map());
  const [settled, setSettled] = useState<ReadonlySet<string>>(new Set());
  const [place, setPlace] = useState({ type, after: -1 });
  const after = place.type === type ? place.after : -1;
  const [sent, setSent] = useState<{ id: string; isDryRun: boolean; rows: readonly string[] } | null>(null);
  const errors = useRead('listImportErrors', {
    query: {
      import_id: job.import_id,
      open: 'true',
      cells: 'true',
      limit: GRID_ROWS,
      ...(after < 0 ? {} : { after }),
      ...(type === 'all' ? {} : { error_type: type }),
    },
  });
  const loaded = errors.data?.attribute_errors;
  const rows = useMemo(
    () => (loaded ?? []).flatMap((error) => refusedOf(error) ?? []).filter(({ id }) => !settled.has(id)),
    [loaded, settled],
  );
  const edit = useCallback(
    (row: Refused, cell: number, text: string) => setEdits((before) => withText(before, row, cell, text)),
    [],
  );
  const wasSent = sent !== null && !sent.isDryRun;
  return (
    <Shown result={errors}>
      {() => (
        <>
          <Hints rows={rows} edits={edits} edit={edit} isOff={job.dry_run || wasSent} />
          <Grid rows={rows} edits={edits} edit={edit} isLocked={job.dry_run || wasSent || !hasEnded(job)} />
          <Pages
            job={job}
            type={type}
            rows={rows}
            next={(loaded?.length ?? 0) < GRID_ROWS ? null : loaded!.at(-1)!.line}
            after={after}
            go={(next) => setPlace({ type, after: next })}
          />
          {sent !== null && (
            <SentRows
              id={sent.id}
              count={sent.rows.length}
              onEnd={(isAllOk) => {
                if (sent.isDryRun) return;
                if (!isAllOk) return;
                setSettled(new Set([...settled, ...sent.rows]));
                setEdits(new Map());
              }}
              onClose={(isStale) => {
                setSent(null);
                if (isStale) void errors.refetch().then(({ data }) => setEdits(stillOpen(edits, data)));
              }}
            />
          )}
          <Bar
            job={job}
            edits={edits}
            isOff={wasSent}
            undo={() => setEdits(new Map())}
            onSent={(id, isDryRun) => setSent({ id, isDryRun, rows: [...edits.keys()] })}
          />
        </>
      )}
    </Shown>
  );
}

/** Returns the edits of rows that were refused again. */
function stillOpen(edits: Edits, read: ResultOf<'listImportErrors'> | undefined): Edits {
  const ids = new Set(read?.attribute_errors.map((error) => refusedOf(error)?.id));
  return new Map([...edits].filter(([id]) => ids.has(id)));
}

function withText(before: Edits, row: Refused, cell: number, text: string): Edits {
  const cells = (before.get(row.id)?.cells ?? row.was).map((old, at) => (at === cell ? text : old));
  const edits = new Map(before);
  if (cells.every((each, at) => each === row.was[at])) edits.delete(row.id);
  else edits.set(row.id, { row, cells });
  return edits;
}

type Edit = (row: Refused, cell: number, text: string) => void;

function Grid({
  rows,
  edits,
  edit,
  isLocked,
}: {
  rows: readonly Refused[];
  edits: Edits;
  edit: Edit;
  isLocked: boolean;
}) {
  const byId = useMemo(() => new Map(rows.map((row) => [row.id, row])), [rows]);
  const shown = useGridRows(rows, edits, isLocked);
  const onChange = useCallback(
    (id: string, cell: number, text: string) => edit(byId.get(id)!, cell, text),
    [byId, edit],
  );
  if (rows.length === 0) return <Empty says="None of these rows is open any more." />;
  return (
    <ErrorGrid caption="Open rows, cells can be edited" columns={columnsOf(rows)} rows={shown} onChange={onChange} />
  );
}

/** Returns the rows of the grid; a row that has not changed stays the same object, and is not drawn anew. */
function useGridRows(rows: readonly Refused[], edits: Edits, isLocked: boolean): GridRow[] {
  const plain = useMemo(
    () =>
      rows.map((row): GridRow => {
        const { id, line, was, message: problem } = row;
        return { id, line, cells: was, was, wrong: wrongCell(row), problem, isLocked };
      }),
    [rows, isLocked],
  );
  return useMemo(
    () =>
      plain.map((row) => {
        const edited = edits.get(row.id);
        return edited ? { ...row, cells: edited.cells, problem: isLocked ? 'sent' : 'changed, not sent yet' } : row;
      }),
    [plain, edits, isLocked],
  );
}

function Hints({ rows, edits, edit, isOff }: { rows: readonly Refused[]; edits: Edits; edit: Edit; isOff: boolean }) {
  if (isOff) return null;
  const textOf = ({ id, was }: Refused, cell: number) => (edits.get(id)?.cells ?? was)[cell];
  const mistakes = sharedMistakes(rows, textOf);
  if (mistakes.length === 0) return null;
  return (
    <div className="body hints">
      {mistakes.map(({ says, setting, action, ids, cell, turn }) => (
        <p className="note info" key={says}>
          <Icon name="flask" />
          <span>
            {countText(ids.length)} of these {rowsText(rows.length)} {says}.{' '}
            {setting !== undefined && (
              <>
                Send the file again with <b>{setting}</b>, or:{' '}
              </>
            )}
            <button
              type="button"
              className="link"
              onClick={() => {
                const wanted = new Set(ids);
                for (const row of rows) if (wanted.has(row.id)) edit(row, cell, turn(textOf(row, cell)!));
              }}
            >
              {action}
            </button>
          </span>
        </p>
      ))}
    </div>
  );
}

function Pages({
  job,
  type,
  rows,
  next,
  after,
  go,
}: {
  job: ImportProgress;
  type: string;
  rows: readonly Refused[];
  /** The line behind which there may be more; null: there are none. */
  next: number | null;
  after: number;
  go: (after: number) => void;
}) {
  const open = type === 'all' ? job.rows.open : (job.open_by_type[type] ?? 0);
  const [first, last] = [rows[0], rows.at(-1)];
  return (
    <footer>
      {first && last && (
        <span>
          Lines {first.line} to {last.line}. Each look is written into the audit log.
        </span>
      )}
      {after >= 0 && (
        <button type="button" className="link" onClick={() => go(-1)}>
          First {GRID_ROWS}
        </button>
      )}
      {next !== null && (
        <button type="button" className="link" onClick={() => go(next)}>
          Next {GRID_ROWS}
        </button>
      )}
      {open > GRID_ROWS && (
        <span>
          Many rows are corrected sooner in the error file:{' '}
          <Link to="/imports/new" search={{ redrive_of: job.import_id } as never}>
            send it corrected
          </Link>
        </span>
      )}
      <span className="quiet">Cells are text: 007 stays 007, spaces stay. Enter goes down, Esc to the buttons.</span>
    </footer>
  );
}

function Bar({
  job,
  edits,
  isOff,
  undo,
  onSent,
}: {
  job: ImportProgress;
  edits: Edits;
  isOff: boolean;
  undo: () => void;
  onSent: (id: string, isDryRun: boolean) => void;
}) {
  const send = useAction('importWithToken', { changes: ['viewImport', 'listImportSummaries'] });
  const { sor, file, dry_run: isDryRun } = job;
  if (isDryRun) return <Reason says="A dry run brings no row: correct the file, and import it." />;
  if (!hasEnded(job)) return <Reason says="Rows can be corrected once the import has ended." />;
  if (sor === null) return <Reason says="The System of Records is deleted: nothing can be imported into it." />;
  const go = (asDryRun: boolean): void => {
    // In the order of the file, so that a later line counts.
    const rows = [...edits.values()].toSorted((one, other) => parseInt(one.row.id, 10) - parseInt(other.row.id, 10));
    const delimiter = file?.delimiter ?? ',';
    const body = {
      sor_id: sor.identifier,
      redrive_of: job.import_id,
      delimiter,
      dry_run: asDryRun,
      skip_email: true,
    };
    send.mutate(
      { body, file: correctedFile(rows, delimiter) },
      { onSuccess: ({ import_id: id }) => onSent(id, asDryRun) },
    );
  };
  const isBusy = send.isPending || isOff || edits.size === 0;
  return (
    <>
      {send.error && <RefusedNote refusal={send.error} />}
      <div className="bar within" role="region" aria-label="Changes">
        <span>
          <b className="n">{countText(edits.size)}</b> of {rowsText(job.rows.open)} changed
        </span>
        <span className="quiet small">Sent as an import of their own</span>
        <div className="end">
          <button type="button" className="btn" disabled={isBusy} onClick={undo}>
            Undo
          </button>
          <ActionButton operation="importWithToken" isBusy={isBusy} onPress={() => go(true)}>
            Dry run
          </ActionButton>
          <ActionButton operation="importWithToken" kind="main" isBusy={isBusy} onPress={() => go(false)}>
            {edits.size === 0 ? 'Re-drive' : `Re-drive ${rowsText(edits.size)}`}
          </ActionButton>
        </div>
      </div>
    </>
  );
}

function Reason({ says }: { says: string }) {
  return (
    <div className="bar within">
      <span className="second">{says}</span>
    </div>
  );
}
