import { find, read } from 'cfb';
import { expect, it } from 'vitest';
import { compoundFileHead, compoundFileSize, compoundFileTail } from '../../../domain/files/compound-file.ts';

const SECTOR = 512;
/**
 * The header lists 109 sectors of the allocation table, each for 128 sectors of the file; each further sector lists
 * 127.
 */
const WITHOUT_LIST = 109 * 128 * SECTOR;
const WITH_ONE_MORE = (109 + 127) * 128 * SECTOR;

const around = (size: number): number[] => [-2, -1, 0, 1, 2].map((sectors) => size - 110 * SECTOR + sectors * SECTOR);

it.each([
  1,
  4095,
  4096,
  4097,
  ...around(WITHOUT_LIST),
  WITHOUT_LIST,
  ...around(WITH_ONE_MORE),
  ...around(WITH_ONE_MORE).map((size) => size - 127 * SECTOR),
  WITH_ONE_MORE + 1,
])('a stream of %i bytes is read back whole', (size) => {
  const stream = Buffer.alloc(size);
  for (let at = 0; at + 4 <= size; at += SECTOR) stream.writeUInt32LE(at, at);
  const file = Buffer.concat([compoundFileHead(size), stream, ...compoundFileTail('Workbook', size)]);
  expect(file.length).toBe(compoundFileSize(size));
  const found = Buffer.from(find(read(file, { type: 'buffer' }), 'Workbook')!.content as Uint8Array);
  expect(found.subarray(0, size).equals(stream)).toBe(true);
  expect(found.subarray(size).every((byte) => byte === 0)).toBe(true);
});

it('a file of more than 2 GiB is none', () => {
  expect(compoundFileSize(2 ** 31 - 1)).toBeNull();
});
