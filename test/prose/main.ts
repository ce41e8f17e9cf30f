import { argv } from 'node:process'
import { parseArgs } from 'node:util'
import { countOf, proseOf, SHARE_MAX } from './count.js'

const { values, positionals } = parseArgs({
  args: argv.slice(2),
  allowPositionals: true,
  options: { list: { type: 'boolean', default: false }, report: { type: 'boolean', default: false } },
})

const sentences = proseOf(positionals)
const counts = countOf(sentences)
for (const { sentence, faults } of counts.flatMap(({ faulty }) => faulty)) {
  if (values.list) console.log(`${sentence.path}:${sentence.line} [${faults.join(', ')}] ${sentence.text}`)
}
for (const { corpus, total, faulty, share, byFault } of counts) {
  const kinds = [...byFault].map(([fault, times]) => `${fault} ${times}`).join(', ')
  console.log(
    `${corpus}: ${faulty.length} of ${total} sentences (${(share * 100).toFixed(1)} %): ${kinds || 'none'}`,
  )
}
if (!values.report && counts.some(({ share }) => share >= SHARE_MAX)) process.exitCode = 1
