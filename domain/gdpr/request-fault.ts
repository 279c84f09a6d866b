/** Faults of privacy requests: what keeps a request, as its status and attention list it. */
/** A fault of a privacy request. `location` null: it keeps the request as a whole. */
export type RequestFault = { location: string | null; since: string; reason: string; what_to_do: string };

/** Stage of a deletion that puts the lists of erased people into the buckets of exporters. */
export const TELLING_EXPORTERS = 'telling exporters';

type Faults = {
  stage: string | null;
  fault: string | null;
  faultSince: Date | null;
  locationFaults: Record<string, { since: string; reason: string }>;
  givenUpAt: Date | null;
};

export function faultsOf({ stage, fault, faultSince, locationFaults, givenUpAt }: Faults): RequestFault[] {
  const whole = fault === null ? [] : [{ location: null, since: faultSince ?? new Date(0), reason: fault }];
  const atLocations = Object.entries(locationFaults).map(([location, { since, reason }]) => ({
    location,
    since: new Date(since),
    reason,
  }));
  return [...whole, ...atLocations]
    .toSorted((a, b) => a.since.getTime() - b.since.getTime())
    .map(({ since, ...found }) => ({
      ...found,
      since: since.toISOString(),
      what_to_do: givenUpAt === null ? whatToDo(found.location, stage) : GIVEN_UP,
    }));
}

const GIVEN_UP =
  'Report the error in Millrace, and restart the workers with a version that mends it. ' +
  'POST /api/gdpr/requests/<request_id>/approve starts the request again.';

const CHECK_BUCKET =
  'Check the bucket: POST /api/data_exporters/<exporter_id>/check. The list is put there again by itself, for a day; ' +
  'then the request goes on, and the next run of the exporter delivers the list.';

function whatToDo(location: string | null, stage: string | null): string {
  if (location === null && stage === TELLING_EXPORTERS) return CHECK_BUCKET;
  if (location === null)
    return 'See that the file store and the database can be reached. The request goes on by itself.';
  const where = location.endsWith('/')
    ? `See that ${location} in the file store can be read and written`
    : 'See that the database works';
  return (
    `${where}; if so, look for the request in the logs of workers, and report the error. The other locations are erased ` +
    'meanwhile, and this one is tried again by itself.'
  );
}
