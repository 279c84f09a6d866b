import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { MAX_SOURCE_DOCUMENT_BYTES } from '../../activities/syncs/stored-size.ts';
import { PUSH_LIMITS } from '../../connectors/push/contract.ts';
import { MAX_PAIRS_IN_ALL } from '../../domain/analytics/funnel.ts';
import { MAX_ELEMENTS } from '../../domain/json/json-size.ts';
import { PRESENT_MS } from '../../domain/core/cpu-share.ts';
import { BOUNDS, COUNTED_MS, PLACES, SMALL_SEND } from '../../domain/core/limits.ts';
import { MAX_FAULTS } from '../../domain/core/refusal.ts';
import { LIMITS } from '../../server/dependencies.ts';
import { MAX_DEFINITIONS } from '../../store/tracking/event-definitions.ts';

const MIB = 1024 ** 2;
const number = (n: number) => n.toLocaleString('en');
const words = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'];
const word = (n: number) => words[n]!;
const seconds = (ms: number) => `${ms / 1_000} s`;
const { importBatches, syncs, exports, gdpr, heavyReads } = PLACES;

/** The sentences of the tables of costs in docs/security.md, made of the figures that the code has. */
const FIGURES = [
  `its share of the ${PLACES.sends} places of a worker`,
  `for ${PRESENT_MS / 1_000} s after each call. A portion no longer counts after ${COUNTED_MS / 1_000} s`,
  `a request for at most ${SMALL_SEND} messages has ${PLACES.smallSends} places of its own`,
  `its share of the ${PLACES.mails} places for mails`,
  `its share of the ${PLACES.connectorCalls} places of a server, at most ${BOUNDS.connectorCalls.maxEach}, each for at most ` +
    `${seconds(LIMITS.discoverMs)}`,
  `its share of ${[importBatches, importBatches, syncs, exports, gdpr].join(', ')} and ${heavyReads} places`,
  `at most ${word(BOUNDS.imports.maxEach + BOUNDS.imports.maxWaitingEach)} imports, ${word(BOUNDS.syncs.maxWaitingEach)} runs of syncs, ` +
    `${word(BOUNDS.exports.maxWaitingEach)} exports and files and ${word(BOUNDS.gdpr.maxWaitingEach)} requests`,
  `${word(BOUNDS.audiences.maxEach)} search for people at a time in each worker`,
  `of ${word(PLACES.audiences)} such places`,
  `${word(BOUNDS.audiences.maxWaitingEach)} wait in line`,
  `its share of ${PLACES.deliveries} places of a worker, at most ${BOUNDS.deliveries.maxEach}`,
  `counts of its messages have ${PLACES.reports} places of their own`,
  `its share of ${PLACES.streamedLists} places of a server, at most ${BOUNDS.streamedLists.maxEach}. A list that has waited ` +
    `${seconds(LIMITS.listWaitMs)}`,
  `${BOUNDS.heavyReads.maxWaitingEach} wait for an entity and ${BOUNDS.heavyReads.maxWaiting} for all`,
  `half of the ${LIMITS.trackingBytes / MIB} MiB of bodies`,
  `${LIMITS.keptBytesPerSor / MIB / 1024} GiB of stored files`,
  `${LIMITS.keptBytesPerEntity / MIB / 1024} GiB of its entity`,
  `${LIMITS.waitingBytes / MIB} MiB of values that wait`,
  `${number(LIMITS.connectionsPerAddress)} of the ${number(LIMITS.connections)} connections`,
  `headers within ${seconds(LIMITS.headersMs)}, an idle body ${seconds(LIMITS.idleBodyMs)}, a body without valid credentials ` +
    `${LIMITS.unverifiedMs / 60_000} minutes`,
  `${LIMITS.unverifiedBytes / MIB} MiB together, ${LIMITS.unverifiedBytesPerAddress / MIB} MiB from one address`,
  `${word(LIMITS.readerMs / 60_000)} minutes in which less than 1 MiB`,
  `at most ${number(MAX_ELEMENTS)} elements and members`,
  `At most ${MAX_FAULTS} faults`,
  `${seconds(PUSH_LIMITS.connectMs)} until a connection stands, ${seconds(PUSH_LIMITS.waitMs)} until a push leaves`,
  `${seconds(PUSH_LIMITS.answerMs)} from there to the end of its answer`,
  `${MAX_SOURCE_DOCUMENT_BYTES / MIB} MiB of JSON for its cursor`,
  `${number(MAX_DEFINITIONS)} definitions in all`,
  `an event with ${MAX_PAIRS_IN_ALL} pairs at most`,
];

it('the page on security has the figures of the code', async () => {
  const page = await readFile(join(import.meta.dirname, '..', '..', 'docs', 'security.md'), 'utf8');
  expect(FIGURES.filter((figure) => !page.includes(figure))).toEqual([]);
});
