/** States and sources of imports, in words. */
import type { ImportProgress } from '../../../api/client.ts';
import type { Tone } from '../../parts/balance.tsx';
import { Chip } from '../../parts/head.tsx';
import { countText } from '../../parts/values.tsx';

type Job = Pick<ImportProgress, 'state' | 'stage' | 'dry_run'> & { rows: { open: number } };

export const hasEnded = ({ state }: { state: ImportProgress['state'] }): boolean =>
  state !== 'accepted' && state !== 'running';

/** Shows the state of an import; after its end, with the rows that are open. */
export function ImportState({ job }: { job: Job }) {
  const [tone, words] = stateOf(job);
  return (
    <>
      <Chip tone={tone}>{words}</Chip>
      {job.dry_run && <Chip tone="info">Dry run: changes nothing</Chip>}
    </>
  );
}

function stateOf({ state, stage, dry_run: isDryRun, rows: { open } }: Job): [Tone, string] {
  switch (state) {
    case 'accepted':
      return ['info', stage ?? 'Accepted'];
    case 'running':
      return ['info', stage ?? 'Running'];
    case 'failed':
      return ['bad', 'Failed'];
    case 'canceled':
      return ['neutral', 'Canceled'];
    case 'finished':
      return open === 0 || isDryRun ? ['ok', 'Finished'] : ['warn', `Finished, ${rowsText(open)} open`];
  }
}

export function rowsText(count: number): string {
  return `${countText(count)} ${count === 1 ? 'row' : 'rows'}`;
}

/** Returns the name of the file at the address; null for an upload. */
export function fileName(url: string | null): string | null {
  if (url === null) return null;
  const name = URL.canParse(url) ? new URL(url).pathname.split('/').findLast((each) => each !== '') : undefined;
  return name === undefined ? url : decodeURIComponent(name);
}
