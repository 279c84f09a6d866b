/** A version of an app in its store; `cdate` is in seconds since the epoch (reference: App). */
type Status = { cdate: number; state: string; version_number: string };

const UNWANTED = ['removedFromSale', 'developerRemovedFromSale', 'inactive'];

/** The newest of the statuses; of several from the same second the last in the list. */
export function newestStatus<S extends Status>(statuses: readonly S[]): S | null {
  return statuses.reduce<S | null>(
    (newest, status) => (newest === null || status.cdate >= newest.cdate ? status : newest),
    null,
  );
}

/** The newest of those that are live in the store. */
export function newestLiveStatus<S extends Status>(statuses: readonly S[]): S | null {
  return newestStatus(statuses.filter(({ state }) => state === 'live'));
}

/** Whether the app is out of its store: lists leave it out unless asked for. */
export function isUnwanted(statuses: readonly Status[]): boolean {
  return UNWANTED.includes(newestStatus(statuses)?.state ?? '');
}
