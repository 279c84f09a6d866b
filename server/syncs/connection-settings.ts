/** Settings of connections: reads, compares and hides them. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { connectors, findConnector } from '../../connectors/catalog.ts';
import { type AnyConnector, harmlessMembers, secretMembers, settingMembers } from '../../connectors/core/contract.ts';
import { refuseField } from '../../domain/core/refusal.ts';
import { sayUnknown } from '../../domain/text/say-unknown.ts';
import { isStorableJson } from '../../domain/text/text-limits.ts';
import type { SettingValues, SplitSettings } from '../../store/syncs/connections.ts';
import { validate } from '../http/validate.ts';

type WithSettings = Pick<AnyConnector, 'settings'>;

/** A marker instead of a secret. A caller that sends it back means the stored secret. */
const SecretMarker = z.strictObject({ set: z.boolean() });

/** Returns the connector. Refuses an unknown name with the nearest known. */
export function connectorNamed(name: string): AnyConnector {
  const known = connectors.map((each) => each.name);
  return findConnector(name) ?? refuseField('connector', sayUnknown(name, known));
}

/** Returns settings and secrets apart, with `kept` secrets. Refuses what the connector lacks by `settings.<member>`. */
export function readSettings(connector: WithSettings, given: SettingValues, kept: SettingValues = {}): SplitSettings {
  for (const [member, value] of Object.entries(given)) refuseMember(connector, member, value);
  const secretNames = secretMembers(connector.settings);
  const isSecret = (member: string) => secretNames.includes(member);
  const settings = Object.fromEntries(Object.entries(given).filter(([member]) => !isSecret(member)));
  const secretSettings = Object.fromEntries(
    secretNames
      .map((member): [string, unknown] => [member, isLeftOut(given[member]) ? kept[member] : given[member]])
      .filter(([, value]) => value !== undefined && value !== null),
  );
  parseSettings(connector, { settings, secretSettings });
  return { settings, secretSettings };
}

export function parseSettings(connector: WithSettings, { settings, secretSettings }: SplitSettings): unknown {
  return validate(
    z.object({ settings: connector.settings }),
    { settings: { ...settings, ...secretSettings } },
    'settings',
  ).settings;
}

function refuseMember({ settings }: WithSettings, member: string, value: unknown): void {
  const known = Object.keys(settingMembers(settings));
  if (!known.includes(member)) {
    refuseField(`settings.${member}`, sayUnknown(member, known));
  }
  if (!isStorableJson(value)) refuseField(`settings.${member}`, 'must not hold NUL or half a surrogate pair');
}

export function isLeftOut(value: unknown): boolean {
  return value === undefined || SecretMarker.safeParse(value).success;
}

export function changedMembers(before: SplitSettings, after: SplitSettings): string[] {
  const [old, now] = [before, after].map(({ settings, secretSettings }): SettingValues => ({
    ...settings,
    ...secretSettings,
  }));
  return [...new Set([...Object.keys(old!), ...Object.keys(now!)])]
    .filter((name) => !isDeepStrictEqual(old![name], now![name]))
    .toSorted();
}

/** Refuses a stored secret for another address: a user who may change connections could read it there. */
export function refuseSecretsElsewhere(
  connector: WithSettings,
  given: SettingValues,
  stored: SplitSettings,
  changed: string[],
): void {
  const free = new Set([...harmlessMembers(connector.settings), ...secretMembers(connector.settings)]);
  const leading = changed.filter((member) => !free.has(member));
  const kept = Object.keys(stored.secretSettings).filter((member) => isLeftOut(given[member]));
  if (leading.length === 0 || kept.length === 0) return;
  refuseField(
    `settings.${kept[0]}`,
    `must be given anew, since ${leading.join(', ')} changed: a stored secret is sent nowhere else than where it was given for`,
  );
}
