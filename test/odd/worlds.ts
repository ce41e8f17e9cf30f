/** What runs odd worlds and says what they came to: for tests, bundled. */
export { NAMED, REWOUND, UNSEEN_DROPS } from './named.js'
export { drawPlan } from './plan.js'
export { runOddWorld } from './world.js'
