import { startDevnet } from '../../tools/devnet/index.js'

// A child process of the test that kills it: prints the URL of its anvil, and stays.
const devnet = await startDevnet({ mining: 'timer' })
console.log(devnet.anvilUrl)
