/** The route that checks an app's push provider. */

import * as api from '../../api/sends/push-providers.ts';
import { findPushProvider as findProvider } from '../../connectors/push/catalog.ts';
import type { PushContext, PushFinding } from '../../connectors/push/contract.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { PUSH_PLATFORMS, type PushPlatform } from '../../domain/sends/push.ts';
import { findWholeApp, type WholeApp } from '../../store/apps/apps.ts';
import { findCurrentPushCertificate, openPrivateKey } from '../../store/apps/push-certificates.ts';
import { write } from '../../store/core/database.ts';
import {
  findPushProvider,
  type OpenedPushProvider,
  openStoredProvider,
  wholePushSettings,
} from '../../store/sends/push-providers.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { audit } from '../http/audit.ts';
import { type Route, route } from '../http/route.ts';

type Asked = { platform: PushPlatform; stored: OpenedPushProvider };

const check = route(api.checkPush, async ({ params: { app_identifier }, body, log, keepReply, ...who }, deps) => {
  const { db, secrets, connectorCalls, limits } = deps;
  const { entityId } = who.caller;
  const app = (await findWholeApp(db, secrets, entityId, app_identifier)) ?? refuse(404, 'not_found', 'App not found');
  const asked = await Promise.all(
    (body.platform === undefined ? PUSH_PLATFORMS : [body.platform]).map(async (platform) => ({
      platform,
      stored: openStoredProvider(secrets, entityId, app.id, await findPushProvider(db, entityId, app.id, platform)),
    })),
  );
  const certificate = await currentCertificate(deps, entityId, app.id);
  const secretSettings = [
    certificate?.pkeyPem,
    ...asked.map(({ stored }) => [stored.secretSettings, stored.vapidKeys?.privateKey]),
  ];
  const outcome = await connectorCalls.run({ entityId, withinMs: limits.checkMs, log, secretSettings }, ({ allow }) =>
    Promise.all(
      asked.map((each) =>
        findingsOf(each, app, {
          app: { packageName: app.packageName, certificate },
          platform: each.platform,
          allow,
          now: Date.now,
        }),
      ),
    ),
  );
  if (!outcome.ok) throw outcome.refusal;
  const platforms = asked.map(({ platform, stored: { provider } }, index) => {
    const findings = outcome.value[index]!;
    return { platform, provider, ok: findings.every(({ severity }) => severity !== 'error'), findings };
  });
  return write(db, async (tx) => {
    const details = Object.fromEntries(
      platforms.map(({ platform, provider, ok }) => [platform, `${provider} ${ok ? 'ok' : 'wrong'}`]),
    );
    await audit(tx, who, { action: 'check', subjectKind: 'push_provider', subject: app_identifier, details });
    return keepReply(tx, { platforms });
  });
});

async function findingsOf({ platform, stored }: Asked, app: WholeApp, context: PushContext): Promise<PushFinding[]> {
  const findings = await ask(stored, context);
  return platform === 'android' && app.fcmKey !== null ? [...findings, LEGACY_KEY] : findings;
}

async function ask(stored: OpenedPushProvider, context: PushContext): Promise<PushFinding[]> {
  const provider = findProvider(stored.provider);
  if (!provider) {
    return [
      {
        severity: 'error',
        field: 'provider',
        message: `is ${stored.provider}, which this server has no more: choose another`,
      },
    ];
  }
  const settings = provider.settings.safeParse(wholePushSettings(stored));
  // An earlier version may have accepted these settings.
  if (!settings.success) {
    return settings.error.issues.map(({ path, message }) => ({
      severity: 'error',
      field: path.join('.') || 'settings',
      message,
    }));
  }
  const open = provider.open(settings.data, context);
  try {
    return await open.check();
  } finally {
    await open.close();
  }
}

const LEGACY_KEY: PushFinding = {
  severity: 'warning',
  field: 'fcm_key',
  message:
    "is a key of FCM's legacy API, which Google has shut down: nothing is sent by it. " +
    'Choose the provider fcm with the key file of a service account, and set fcm_key to null',
};

async function currentCertificate(
  { db, secrets }: RouteDependencies,
  entityId: number,
  appId: number,
): Promise<PushContext['app']['certificate']> {
  const found = await findCurrentPushCertificate(db, entityId, appId);
  return found && { x509Pem: found.x509Pem, pkeyPem: openPrivateKey(secrets, entityId, found) };
}

export const pushCheckRoutes: Route[] = [check];
