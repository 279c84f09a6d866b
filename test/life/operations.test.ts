import { expect, it } from 'vitest';
import { contract, lifeOperations } from './operations/operations.ts';

it('the walk knows how to call each operation of the contract, and no other', () => {
  const [ids, known] = [[...contract.keys()], Object.keys(lifeOperations)];
  expect(
    ids.filter((id) => !known.includes(id)),
    'operations without an entry in test/life/operations',
  ).toEqual([]);
  expect(
    known.filter((id) => !ids.includes(id)),
    'entries without an operation',
  ).toEqual([]);
});
