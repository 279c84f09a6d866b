import type { SampledRecord } from '../../api/client.ts';
import { table } from '../core/table.ts';
import { sayValueChange } from './definition-changes.ts';

/** A row for each change of each record; only the first of a record's rows names it. */
export function sampleTable(records: SampledRecord[]): string {
  const rows = records.flatMap((record) => changesOf(record).map((change, index) =>
    (index === 0 ? [String(record.line), record.outcome, record.customer_id ?? '', change] : ['', '', '', change])));
  return table(['record', 'outcome', 'customer', 'change'], rows);
}

function changesOf({ changes = [], record, message }: SampledRecord): string[] {
  const lines = changes.map(({ key, before, after }) => sayValueChange(key, before, after));
  if (record !== undefined && record !== null) lines.push(JSON.stringify(record));
  if (message !== undefined) lines.push(message);
  return lines.length > 0 ? lines : [''];
}
