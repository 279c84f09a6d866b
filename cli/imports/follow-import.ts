import type { Client, ImportProgress } from '../../api/client.ts';
import type { CommandContext } from '../core/command-context.ts';
import { follow, type Shown } from '../jobs/follow.ts';
import { hasEnded } from './import-status.ts';

const ROWS = '{bar} {percentage}% | {rows} rows | {rate} rows/s | {left} left';
const WAITING = '{stage} | {rows} rows';
const FETCHING = 'fetching the file | {fetched} MiB';

/** How an import stands now. */
export function viewImport(client: Client, id: string): Promise<ImportProgress> {
  return client.viewImport({ params: { import_id: id } });
}

/** Shows how far an import is until it has ended. */
export function followImport(context: CommandContext, id: string): Promise<ImportProgress> {
  return follow<ImportProgress>(context, {
    view: () => viewImport(context.client, id),
    hasEnded,
    shown,
    name: 'import',
    toFollow: `status ${id}`,
    toCancel: `cancel ${id}`,
  });
}

function shown(status: ImportProgress): Shown {
  const { decompressed_bytes: size } = status.source;
  return {
    phase: status.stage !== null ? WAITING : size === null && !hasEnded(status) ? FETCHING : ROWS,
    stage: status.stage ?? '',
    value: status.bytes_read,
    total: Math.max(size ?? 0, 1),
    fetched: ((status.fetched_bytes ?? 0) / 2 ** 20).toFixed(1),
    rows: status.rows.read,
    rate: Math.round(status.rate ?? 0),
    left: timeLeft(status),
  };
}

function timeLeft({ expected_end_at: end, ended_at: ended }: ImportProgress): string {
  if (ended !== null || end === null) return ended === null ? 'unknown' : '0 s';
  return `${Math.max(0, Math.round((Date.parse(end) - Date.now()) / 1000))} s`;
}
