import { customerKeys } from '../people-keys.ts';
import type { PersonalDataLocation } from '../personal-data-location.ts';
import { countIds, eraseIds } from './ids-that-led-on.ts';

/** By gdpr_left_identifiers_by_value. */
const LEFT = `gdpr_left_identifiers i JOIN gdpr_requests r ON r.entity_id = $1 AND r.id = i.request_id
  WHERE i.entity_id = $1 AND (i.value, i.kind) IN (SELECT * FROM unnest($2::text[], $3::text[]))`;

/** Others' ids to which theirs led, which are always users'. By gdpr_left_identifiers_by_via. */
const LED_TO = `gdpr_left_identifiers i JOIN gdpr_requests r ON r.entity_id = $1 AND r.id = i.request_id
  WHERE i.entity_id = $1 AND (i.via, 'user_id') IN (SELECT * FROM unnest($2::text[], $3::text[]))`;

const IDS = { table: 'gdpr_left_identifiers', own: LEFT, ledTo: LED_TO };

/** Ids that are linked to people of requests, and were left alone: they may be others'. */
export const gdprLeftIdentifiers: PersonalDataLocation = {
  name: 'gdpr_left_identifiers',
  columns: ['kind', 'value', 'via'],
  otherColumns: ['entity_id', 'request_id', 'ordinal', 'reason'],
  holds:
    'ids [linked to a person](gdpr.md#whose-word-links-ids) of a request that Millrace left alone, and the id ' +
    'that led to each',
  foundBy: 'kind and value; the id that led there',
  erasedBy: "deleting the rows, and emptying the id that led to another person's; the rows also go with the request",
  count: ({ db }, entityId, people) => countIds(db, IDS, customerKeys(entityId, people)),
  async *export({ db }, entityId, people) {
    const { rows } = await db.query(
      `SELECT r.identifier, i.kind, i.value, i.reason FROM ${LEFT} ORDER BY r.id, i.kind, i.value`,
      customerKeys(entityId, people),
    );
    yield* rows;
  },
  erase: (deps, entityId, people) => eraseIds(deps, IDS, customerKeys(entityId, people)),
};
