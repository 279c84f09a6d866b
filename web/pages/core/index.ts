import { page } from '../page.ts';

export const homePages = [
  page({
    path: '/',
    title: 'Home',
    question: 'What needs me?',
    needs: [],
    menu: { group: '', icon: 'home' },
    key: 'h',
    load: () => import('./home.tsx').then(({ Home }) => Home),
  }),
];
