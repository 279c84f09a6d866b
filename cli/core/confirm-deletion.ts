import { refuse } from '../../domain/core/refusal.ts';
import { askLine } from './ask-line.ts';
import type { ProcessIo } from './command-context.ts';

export type YesOption = { yes?: true };

export const YES = ['--yes', 'delete without asking; required without a terminal'] as const;

/**
 * Asks on the terminal whether to delete `what`, unless `--yes` was given. Refuses if the answer is no or there is no
 * terminal.
 */
export async function confirmDeletion(
  { stdin, stderr }: Pick<ProcessIo, 'stdin' | 'stderr'>,
  what: string,
  isSaid = false,
): Promise<void> {
  if (isSaid) return;
  if (!stdin.isTTY) return refuse(400, 'not_confirmed', `This would delete ${what}: add --yes. Nothing was changed.`);
  if (!/^y(es)?$/i.test(await askLine({ stdin, stderr }, `Delete ${what}? [y/N] `)))
    refuse(400, 'not_confirmed', 'Nothing was changed.');
}
