import { certificate } from '../core/http-source.ts';
import { fcmServer } from './fcm-server.ts';

/** FCM in a process of its own, for the benchmark: prints where it is, and ends with its standard input. */
const tls = await certificate();
const { origin, serviceAccount } = await fcmServer({ ...tls, keepsSent: false });
process.stdout.write(`${JSON.stringify({ origin, serviceAccount, cert: tls.cert })}\n`);
process.stdin.on('end', () => process.exit(0)).resume();
