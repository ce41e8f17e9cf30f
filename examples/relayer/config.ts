import { readFileSync } from 'node:fs'
import { type Chain, createPublicClient, type Hex, http, type LocalAccount, parseEther } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import * as chains from 'viem/chains'
import type { Accounts } from './accounts.js'

/** Configuration of a process. The README has a table of the variables. */
export type Config = ReturnType<typeof readConfig>

/** @throws Error that names the variable */
export function readConfig(env: NodeJS.ProcessEnv) {
  const chain = chainOf(env.CHAIN_ID ?? '8453')
  const clients = needed(env, 'RPC_URL')
    .split(',')
    .map((url) => createPublicClient({ chain, transport: http(url.trim()) }))
  if (env.KEYS_FILE === undefined && env.PRIVATE_KEYS === undefined && env.PRIVATE_KEY === undefined)
    throw new Error('KEYS_FILE or PRIVATE_KEYS has to be set.')
  return {
    chain,
    client: clients[0] as (typeof clients)[number],
    endpoints: clients.slice(1).map((client) => ({ client })),
    database: {
      connectionString: needed(env, 'DATABASE_URL'),
      ...(env.DATABASE_SCHEMA ? { schema: env.DATABASE_SCHEMA } : {}),
    },
    callersFile: needed(env, 'CALLERS_FILE'),
    accounts: () => accountsOf(env),
    treasury: treasuryOf(env),
    host: env.HOST ?? '127.0.0.1',
    port: numberOf(env, 'PORT', 8000),
    metricsPort: numberOf(env, 'METRICS_PORT', 9464),
    stopDelayMs: numberOf(env, 'STOP_DELAY_MS', 0),
  }
}

function needed(env: NodeJS.ProcessEnv, name: string): string {
  const value = env[name]
  if (!value) throw new Error(`${name} has to be set.`)
  return value
}

function numberOf(env: NodeJS.ProcessEnv, name: string, otherwise: number): number {
  const text = env[name]
  if (text === undefined || text === '') return otherwise
  if (!/^\d{1,9}$/.test(text)) throw new Error(`${name} has to be a whole number, not "${text}".`)
  return Number(text)
}

function chainOf(id: string): Chain {
  const chain = (Object.values(chains) as Chain[]).find((one) => one.id === Number(id))
  if (chain === undefined) throw new Error(`CHAIN_ID: viem has no chain with the id "${id}".`)
  return chain
}

/**
 * Read again at each SIGHUP, because accounts come and go while the process runs. An account whose line
 * begins with `retired` finishes its open transactions. That needs its key, also after a restart.
 */
function accountsOf(env: NodeJS.ProcessEnv): Accounts {
  const name = env.KEYS_FILE === undefined ? 'PRIVATE_KEYS' : 'KEYS_FILE'
  const text =
    env.KEYS_FILE === undefined
      ? (env.PRIVATE_KEYS ?? env.PRIVATE_KEY ?? '').replaceAll(',', '\n')
      : readFileSync(env.KEYS_FILE, 'utf8')
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
  const keys = lines.map((line, index) => {
    const [, retired, key = ''] = /^(retired\s+)?(.*)$/.exec(line) ?? []
    return { account: accountOf(key, `${name}, key ${index + 1}`), isRetired: retired !== undefined }
  })
  const of = (isRetired: boolean) =>
    keys.filter((one) => one.isRetired === isRetired).map(({ account }) => account)
  const accounts = { active: of(false), retired: of(true) }
  if (accounts.active.length === 0) throw new Error(`${name} has no active key.`)
  return accounts
}

/** The error identifies the key by its position, and reveals nothing of it. */
function accountOf(key: string, name: string): LocalAccount {
  if (!/^0x[0-9a-fA-F]{64}$/.test(key)) throw new Error(`${name} has to be 0x and 64 hexadecimal digits.`)
  return privateKeyToAccount(key as Hex)
}

function treasuryOf(env: NodeJS.ProcessEnv) {
  if (!env.TREASURY_KEY) return undefined
  const below = etherOf(env, 'TREASURY_BELOW')
  const upTo = etherOf(env, 'TREASURY_UP_TO')
  return { account: accountOf(env.TREASURY_KEY, 'TREASURY_KEY'), below, upTo }
}

function etherOf(env: NodeJS.ProcessEnv, name: string): bigint {
  const text = needed(env, name)
  if (!/^\d+(\.\d{1,18})?$/.test(text))
    throw new Error(`${name} has to be an amount of ether, not "${text}".`)
  return parseEther(text)
}
