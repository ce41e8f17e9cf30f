/** The parts that run and judge worlds, in one bundle for the tests. */
export { createCounter } from './coverage.js'
export { unexercised } from './expected.js'
export { runPoolWorld } from './poolWorld.js'
export { createSubject } from './subject.js'
export { runWorld } from './world.js'
