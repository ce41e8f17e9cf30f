// One of several processes that find an empty database at the same time: each enqueues a transaction and
// prints the result.
import { postgresStore } from '../../src/store/postgres/index.js'
import { transactionIn } from './postgresSamples.js'

const { CONNECTION_STRING = '', SCHEMA } = process.env
const store = postgresStore({ connectionString: CONNECTION_STRING, schema: SCHEMA })
const lane = { chainId: 1, genesisHash: `0x${'1'.repeat(64)}`, address: `0x${'2'.repeat(40)}` } as const
const [kept] = await store.enqueue([transactionIn(lane, `id-${process.pid}`)])
await store.close()
process.stdout.write(kept?.fresh ? 'fresh' : 'known')
