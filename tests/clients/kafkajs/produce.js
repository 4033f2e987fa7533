// Produce with acks=all until standard input ends; one line for each acked value. `produce.js BOOTSTRAP TOPIC`
'use strict'

const { Kafka, logLevel, Partitioners } = require('kafkajs')

const [bootstrap, topic] = process.argv.slice(2)
const kafka = new Kafka({ brokers: bootstrap.split(','), logLevel: logLevel.NOTHING, retry: { retries: 100, maxRetryTime: 2000 } })
const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner, maxInFlightRequests: 1, idempotent: true })

async function main() {
  let ended = false
  process.stdin.on('end', () => { ended = true }).resume()
  await producer.connect()
  for (let number = 0; !ended; number++) {
    const value = String(number)
    await producer.send({ topic, acks: -1, messages: [{ value }] })
    console.log(value)
  }
  await producer.disconnect()
}

main().then(() => process.exit(0), (error) => { console.error(error); process.exit(1) })
