/** The routes by which devices get their in-app messages and register their user. */

import * as api from '../../api/sends/device-messages.ts';
import { isObject } from '../../domain/json/exact-json.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import { messageIdOf } from '../../domain/sends/attempt.ts';
import { fieldsOf, isCallError, readSubject } from '../../domain/tracking/call-fields.ts';
import { listAppTokenKeys } from '../../store/apps/app-token-keys.ts';
import { write } from '../../store/core/database.ts';
import { findErased, peopleOfDevice } from '../../store/gdpr/tombstones.ts';
import { findInappDevice, type InappMessage, listInappMessages } from '../../store/sends/inapp-messages.ts';
import { updateVerifiedUser } from '../../store/tracking/devices.ts';
import type { TrackingTarget } from '../../store/tracking/tracking-target.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { type Route, route } from '../http/route.ts';
import { requireTarget } from '../tracking/write-keys.ts';
import { verifyUserToken } from '../tracking/user-token.ts';
import { pushTokenOf } from '../../domain/tracking/call-context.ts';

const MAX_INAPP = 100;
const NO_DEVICE_ID = 'is required: what the SDK has as context.device.id, or anonymousId';
const NO_PUSH_TOKEN =
  'is required: the push token that this device has now. The one that is known came without a user token of this user';

const inapp = route(api.listInappMessages, async ({ query: { deviceId }, userToken, ...circumstances }, deps) => {
  const target = await requireTarget(deps, circumstances, null);
  const device = await requireDevice(deps, target, deviceId ?? refuseField('deviceId', NO_DEVICE_ID));
  if (device.verifiedUsers) {
    const user = await verifyUserToken(
      await listAppTokenKeys(deps.db, deps.secrets, target.entityId, device.appId),
      userToken,
    );
    if (user !== device.currentUserId)
      refuse(403, 'forbidden', 'The user token vouches for another user than the one who is logged in');
  }
  const { entityId } = target;
  const people = () => peopleOfDevice(device.deviceId, [device.currentUserId]);
  const erased = await findErased(deps.db, deps.secrets, entityId, people);
  if (erased.size > 0) return { messages: [] }; // an erasure reaches the messages last, or after failures
  return { messages: (await listInappMessages(deps.db, entityId, device, MAX_INAPP)).map(show) };
});

const verify = route(api.verifyDeviceUser, async ({ body, ...circumstances }, deps) => {
  const target = await requireTarget(deps, circumstances, body);
  const fields = isObject(body) ? body : {};
  const given =
    fields.deviceId === undefined ? (fieldsOf(fieldsOf(fields.context)?.device) ?? {}) : { id: fields.deviceId };
  const subject = readSubject('track', { ...fields, userId: undefined }, given);
  if (isCallError(subject) || subject.deviceId === null) return refuseField('deviceId', NO_DEVICE_ID);
  const device = await requireDevice(deps, target, subject.deviceId);
  const user = await verifyUserToken(
    await listAppTokenKeys(deps.db, deps.secrets, target.entityId, device.appId),
    fields.userToken,
  );
  const pushToken = pushTokenOf(fields.pushToken ?? fieldsOf(fieldsOf(fields.context)?.device)?.token);
  const isVerified = await write(deps.db, (tx) => updateVerifiedUser(tx, target.entityId, device, user, pushToken));
  if (!isVerified) refuseField('pushToken', NO_PUSH_TOKEN);
  return { device_id: device.deviceId, user_id: user };
});

async function requireDevice({ db }: RouteDependencies, { entityId, apps }: TrackingTarget, deviceId: string) {
  return (
    (await findInappDevice(
      db,
      entityId,
      apps.map(({ appId }) => appId),
      deviceId,
    )) ?? refuse(404, 'not_found', 'Device not found: nothing is known of it')
  );
}

function show({ id, campaign, inapp: content, createdAt, inappUntil }: InappMessage) {
  const { kind, title, content: text, button, contentUrl, contentTitle, autoDisplay, deepLink, parameters } = content;
  return {
    millrace_id: messageIdOf(id),
    campaign_id: campaign,
    kind,
    title,
    content: text,
    button,
    content_url: contentUrl,
    content_title: contentTitle,
    auto_display: autoDisplay,
    deep_linking_url: deepLink,
    parameters,
    created_at: createdAt.toISOString(),
    expires_at: inappUntil.toISOString(),
  };
}

export const deviceMessageRoutes: Route[] = [inapp, verify];
