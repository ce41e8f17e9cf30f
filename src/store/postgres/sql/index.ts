import { enqueueStatements } from './enqueue.js'
import { handStatements } from './hand.js'
import { leaseStatements } from './leases.js'
import { outboxStatements } from './outbox.js'
import { readStatements } from './reads.js'
import { writeStatements } from './write.js'

export type Statements = ReturnType<typeof statementsOf>

/** Every statement of the store, for tables in a schema whose name was checked. */
export function statementsOf(schemaName: string) {
  const schema = `"${schemaName}"`
  return {
    ...leaseStatements(schema),
    ...writeStatements(schema),
    ...enqueueStatements(schema),
    ...handStatements(schema),
    ...readStatements(schema),
    ...outboxStatements(schema),
  }
}
