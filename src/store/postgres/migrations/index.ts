import { tables } from './0001-tables.js'
import { leaseLength } from './0002-lease-length.js'
import { firstChain } from './0003-first-chain.js'
import { listed } from './0004-listed.js'
import { reports } from './0005-reports.js'
import { outboxes } from './0006-outboxes.js'
import { commands } from './0007-commands.js'

/** One step of the schema. A published step is never changed; the next one corrects it. */
export type Migration = { readonly version: number; readonly sql: (schema: string) => string }

/** In order, numbered from 1. */
export const migrations: readonly Migration[] = [
  tables,
  leaseLength,
  firstChain,
  listed,
  reports,
  outboxes,
  commands,
]
