/** Limits how many steps of each kind run at once in a process. */
import type { CpuShare } from '../../domain/core/cpu-share.ts';
import { openPlaces } from '../../domain/core/limits.ts';
import type { Dependencies } from '../dependencies.ts';

type Places = Pick<
  Dependencies,
  | 'takeImportSlot'
  | 'takeFeedSlot'
  | 'takeBatchSlot'
  | 'takePartSlot'
  | 'takeSyncSlot'
  | 'takeExportSlot'
  | 'takeGdprSlot'
  | 'takeFeedBatchSlot'
  | 'takeSendSlot'
  | 'takeSmallSendSlot'
  | 'takeMailSlot'
  | 'takeAudienceSlot'
  | 'takeReportSlot'
  | 'takeDeliverySlot'
>;

/** Opens the semaphores that the steps of a process share. Call it once a process; `cpuShare`: that of its server. */
export function openAllPlaces(cpuShare?: CpuShare): Places {
  return {
    takeImportSlot: openPlaces('imports', cpuShare),
    takeFeedSlot: openPlaces('feeds', cpuShare),
    takeBatchSlot: openPlaces('importBatches', cpuShare),
    takePartSlot: openPlaces('batchParts', cpuShare),
    takeSyncSlot: openPlaces('syncs', cpuShare),
    takeExportSlot: openPlaces('exports', cpuShare),
    takeGdprSlot: openPlaces('gdpr', cpuShare),
    takeFeedBatchSlot: openPlaces('feedBatches', cpuShare),
    takeSendSlot: openPlaces('sends', cpuShare),
    takeSmallSendSlot: openPlaces('smallSends', cpuShare),
    takeMailSlot: openPlaces('mails', cpuShare),
    takeAudienceSlot: openPlaces('audiences', cpuShare),
    takeReportSlot: openPlaces('reports', cpuShare),
    takeDeliverySlot: openPlaces('deliveries', cpuShare),
  };
}
