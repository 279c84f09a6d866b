import { openPlaces } from '../../domain/core/limits.ts';
import type { Dependencies } from '../dependencies.ts';

type Places = Pick<
  Dependencies,
  | 'takeImportSlot'
  | 'takeFeedSlot'
  | 'takeBatchSlot'
  | 'takeSyncSlot'
  | 'takeExportSlot'
  | 'takeGdprSlot'
  | 'takeSendSlot'
  | 'takeMailSlot'
  | 'takeAudienceSlot'
  | 'takeReportSlot'
  | 'takeDeliverySlot'
>;

/** Opens the places that the steps of a process share, once for the process. */
export function openAllPlaces(): Places {
  return {
    takeImportSlot: openPlaces('imports'),
    takeFeedSlot: openPlaces('feeds'),
    takeBatchSlot: openPlaces('importBatches'),
    takeSyncSlot: openPlaces('syncs'),
    takeExportSlot: openPlaces('exports'),
    takeGdprSlot: openPlaces('gdpr'),
    takeSendSlot: openPlaces('sends'),
    takeMailSlot: openPlaces('mails'),
    takeAudienceSlot: openPlaces('audiences'),
    takeReportSlot: openPlaces('reports'),
    takeDeliverySlot: openPlaces('deliveries'),
  };
}
