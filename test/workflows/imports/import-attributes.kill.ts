import { parse } from 'csv-parse/sync';
import { streamImportErrors } from '../../../store/imports/import-errors.ts';
import { findImport, type Import } from '../../../store/imports/imports.ts';
import type { Stack } from '../../harness/core/stack.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { mixedFile } from '../../harness/imports/import-files.ts';
import { postImport } from '../../harness/imports/imports.ts';
import { inlineRows, workbook } from '../../harness/imports/workbooks.ts';
import type { FlowUnderKill } from '../../harness/jobs/under-kill.ts';

const ROWS = 20_000;
const PEOPLE = 700;

type Run = { world: World; identifier: string };

export const importAttributesUnderKill: FlowUnderKill<Run> = {
  name: 'an import of an .xlsx file of 20,000 rows',
  boundaries: [
    { name: 'import: claimed', hit: 1 },
    { name: 'import: file converted', hit: 1 },
    { name: 'import: conversion noted', hit: 1 },
    { name: 'import: before a batch commits', hit: 1 },
    { name: 'import: before a batch commits', hit: 9 },
    { name: 'import: after a batch committed', hit: 6 },
    { name: 'import: before the end commits', hit: 1 },
  ],
  async begin(stack) {
    const world = await makeWorld(stack.store);
    const rows = parse(mixedFile(ROWS, PEOPLE)) as unknown as string[][];
    const file = await workbook({ sheets: { People: inlineRows(rows) } });
    return { world, identifier: await postImport(stack.app, world, file) };
  },
  progress: async (stack, run) => (await job(stack, run)).rowsIn,
  size: ROWS,
  hasEnded: async (stack, run) => (await job(stack, run)).endedAt !== null,
  async outcome(stack, run) {
    const { state, rowsIn, rowsOk, rowsIgnored, rowsFailed, errorsByType } = await job(stack, run);
    return {
      counts: { state, rowsIn, rowsOk, rowsIgnored, rowsFailed, errorsByType },
      errors: await errorsOf(stack, run),
      values: await importedValues(stack, run.world),
    };
  },
};

async function job({ store }: Stack, { world, identifier }: Run): Promise<Import> {
  return (await findImport(store.db, world.entity.id, identifier))!;
}

async function errorsOf(stack: Stack, run: Run): Promise<unknown[]> {
  const { id } = await job(stack, run);
  const errors = await Array.fromAsync(streamImportErrors(stack.store.db, run.world.entity.id, id));
  return errors.map(({ happenedAt: _, ...error }) => error);
}

/** Every value of the world's SoR, without times. */
export async function importedValues({ store }: Stack, world: World): Promise<unknown[]> {
  const { rows } = await store.db.query(
    `SELECT v.customer_id, a.key, v.removed_at IS NOT NULL AS removed, v.string_value, v.number_value, v.boolean_value,
            v.date_value, v.datetime_value, v.set_elements
     FROM attribute_values v JOIN customer_attributes a ON a.entity_id = v.entity_id AND a.id = v.attribute_id
     WHERE v.entity_id = $1 ORDER BY v.customer_id, a.key`,
    [world.entity.id],
  );
  return rows;
}
