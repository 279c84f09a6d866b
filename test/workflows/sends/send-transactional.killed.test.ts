import { survivesKills } from '../../harness/jobs/under-kill.ts';
import { sendTransactionalUnderKill } from './send-transactional.kill.ts';

survivesKills(sendTransactionalUnderKill);
