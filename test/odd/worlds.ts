/** The parts that run and judge odd worlds, in one bundle for the tests. */
export { NAMED, REWOUND, UNSEEN_DROPS } from './named.js'
export { drawPlan } from './plan.js'
export { runOddWorld } from './world.js'
