import { openPlaces } from '../../domain/core/limits.ts';
import type { Dependencies } from '../dependencies.ts';
import { sharedPlaces } from './within-share.ts';

type Places = Pick<
  Dependencies, 'takeBatchSlot' | 'takeSyncSlot' | 'takeExportSlot' | 'takeGdprSlot' | 'withinBulk' | 'withinSends' | 'withinMails'
>;

/** Opens the places that the steps of a process share, once for the process. */
export function openAllPlaces(): Places {
  return {
    takeBatchSlot: openPlaces('importBatches'), takeSyncSlot: openPlaces('syncs'), takeExportSlot: openPlaces('exports'),
    takeGdprSlot: openPlaces('gdpr'), withinBulk: sharedPlaces(openPlaces('bulkSteps')),
    withinSends: sharedPlaces(openPlaces('sends')), withinMails: sharedPlaces(openPlaces('mails')),
  };
}
