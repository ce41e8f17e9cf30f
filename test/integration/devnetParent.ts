import { startDevnet } from '../../tools/devnet/index.js'

// Run as a process of its own by the test that kills it: prints where its anvil listens, and stays.
const devnet = await startDevnet({ mode: 'timer' })
console.log(devnet.anvilUrl)
