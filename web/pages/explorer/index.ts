import { page } from '../page.ts';

export const explorerPages = [
  page({
    path: '/apps/$id/events',
    title: 'Events',
    question: 'What happened, how often?',
    needs: ['countAppDays', 'countAppEvents'],
    load: () => import('./events.tsx').then(({ EventsPage }) => EventsPage),
  }),
  page({
    path: '/apps/$id/sessions',
    title: 'Sessions',
    question: 'Who used the app when, in which version?',
    needs: ['listSessions'],
    load: () => import('./usage-list.tsx').then(({ SessionsPage }) => SessionsPage),
  }),
  page({
    path: '/apps/$id/devices',
    title: 'Devices',
    question: 'On which devices is the app?',
    needs: ['listDevices'],
    load: () => import('./usage-list.tsx').then(({ DevicesPage }) => DevicesPage),
  }),
  page({
    path: '/apps/$id/locations',
    title: 'Locations',
    question: 'Where was the app used?',
    needs: ['listLocations'],
    load: () => import('./usage-list.tsx').then(({ LocationsPage }) => LocationsPage),
  }),
  page({
    path: '/apps/$id/crashes',
    title: 'Crashes',
    question: 'What breaks?',
    needs: ['listCrashes'],
    load: () => import('./crashes.tsx').then(({ CrashesPage }) => CrashesPage),
  }),
  page({
    path: '/apps/$id/crashes/$crash',
    title: 'Crash',
    question: 'Since when, in which version, on which devices?',
    needs: ['viewCrash'],
    load: () => import('./crash.tsx').then(({ CrashPage }) => CrashPage),
  }),
];
