/** A version of an app in its store; `cdate` is in seconds since the epoch (reference: App). */
type Status = { cdate: number; state: string; version_number: string };

const UNWANTED = ['removedFromSale', 'developerRemovedFromSale', 'inactive'];

/** Returns the newest status; of several in the same second the last in the list. */
export function newestStatus<S extends Status>(statuses: readonly S[]): S | null {
  return statuses.reduce<S | null>(
    (newest, status) => (newest === null || status.cdate >= newest.cdate ? status : newest),
    null,
  );
}

export function newestLiveStatus<S extends Status>(statuses: readonly S[]): S | null {
  return newestStatus(statuses.filter(({ state }) => state === 'live'));
}

/** Returns whether the app is out of its store: lists leave it out by default. */
export function isUnwanted(statuses: readonly Status[]): boolean {
  return UNWANTED.includes(newestStatus(statuses)?.state ?? '');
}
