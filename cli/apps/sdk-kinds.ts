import type { Command } from 'commander';
import type { Crash, EventDefinition } from '../../api/client.ts';
import type { CommandContext, Run } from '../core/command-context.ts';
import { addGroup } from '../core/group.ts';
import { APP, appParams } from './find-app.ts';

/** The commands about the kinds of events and of errors that an app sends. */

const PER_PAGE = 1_000;
const EVENT = ['<event>', 'its identifier'] as const;
const CRASH = ['<crash>', 'its identifier'] as const;

export function addEvents(apps: Command, run: Run): void {
  addGroup<EventDefinition>(apps, run, {
    name: 'events',
    description: 'the kinds of events that an app has sent',
    columns: {
      identifier: (event) => String(event.identifier),
      type: (event) => String(event.log_type),
      name: (event) => event.name,
      shown: (event) => (event.display_name === event.name ? '' : event.display_name),
      goal: (event) => (event.goal ? 'goal' : ''),
      labels: (event) => event.labels.join(', '),
    },
    commands: [
      {
        name: 'list',
        isDefault: true,
        description: 'list them',
        args: [APP],
        async does({ client, setResult }, _, given: string) {
          const query = { per_page: PER_PAGE };
          const events = await Array.fromAsync(
            client.each.listEventDefinitions({ params: await appParams(client, given), query }),
          );
          setResult(events);
          return events;
        },
      },
      {
        name: 'remove',
        description: 'delete one, after asking; its events stay, and make another one once they come again',
        args: [APP, EVENT],
        deletes: async (_, app, event) => `the event definition ${event} of ${app}`,
        does: async ({ client }: CommandContext, _: unknown, given: string, event: string) =>
          client.deleteEventDefinition({ params: { ...(await appParams(client, given)), event_id: event } }),
      },
    ],
  });
}

export function addCrashes(apps: Command, run: Run): void {
  addGroup<Crash>(apps, run, {
    name: 'crashes',
    description: 'the kinds of errors that an app has sent',
    columns: {
      identifier: (crash) => crash.identifier,
      errors: (crash) => String(crash.occurrences),
      last: (crash) => crash.last_seen_at.slice(0, 16),
      title: (crash) => crash.title,
    },
    commands: [
      {
        name: 'list',
        isDefault: true,
        description: 'list them, the one that came last first',
        args: [APP],
        async does({ client, setResult }, _, given: string) {
          const query = { per_page: PER_PAGE };
          const crashes = await Array.fromAsync(
            client.each.listCrashes({ params: await appParams(client, given), query }),
          );
          setResult(crashes);
          return crashes;
        },
      },
      {
        name: 'remove',
        description: 'delete one, after asking; its errors stay, and make another one once they come again',
        args: [APP, CRASH],
        deletes: async (_, app, crash) => `the crash ${crash} of ${app}`,
        does: async ({ client }: CommandContext, _: unknown, given: string, crash: string) =>
          client.deleteCrash({ params: { ...(await appParams(client, given)), crash_identifier: crash } }),
      },
    ],
  });
}
