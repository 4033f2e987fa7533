package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	work   = "work"
	amount = 100
)

type place struct {
	partition int32
	offset    int64
}

// modern reads a topic of four partitions with two members of a KIP-848 group, says "shared", and goes on when its
// input ends: the group's coordinator may die meanwhile. Then two workers of a share group (KIP-932) empty the topic.
func modern(brokers kgo.Opt) {
	ctx, cancel := context.WithTimeout(context.Background(), 160*time.Second)
	defer cancel()
	fill(ctx, brokers)
	share(ctx, brokers)
	queue(ctx, brokers)
	fmt.Println("done")
}

func fill(ctx context.Context, brokers kgo.Opt) {
	client := must(kgo.NewClient(brokers, kgo.DefaultProduceTopic(work), kgo.RecordPartitioner(kgo.ManualPartitioner())))
	defer client.Close()
	for number := range amount {
		record := kgo.StringRecord(strconv.Itoa(number))
		record.Partition = int32(number % 4)
		client.Produce(ctx, record, func(_ *kgo.Record, err error) { check(err) })
	}
	check(client.Flush(ctx))
}

func modernMember(brokers kgo.Opt) *kgo.Client {
	return must(kgo.NewClient(brokers, kgo.ConsumeTopics(work), kgo.ConsumerGroup("modern"), kgo.ServerSideBalancer(),
		kgo.Balancers(kgo.CooperativeStickyBalancer()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.AutoCommitInterval(200*time.Millisecond), kgo.FetchMaxWait(200*time.Millisecond)))
}

// poll takes what there is within 50 ms.
func poll(ctx context.Context, client *kgo.Client, found map[place]int) []*kgo.Record {
	soon, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	read := client.PollFetches(soon).Records()
	for _, record := range read {
		found[place{record.Partition, record.Offset}]++
	}
	return read
}

// share: both members have two partitions; all is read although the coordinator dies; who stays gets everything.
func share(ctx context.Context, brokers kgo.Opt) {
	admin := kadm.NewClient(must(kgo.NewClient(brokers)))
	first, second := modernMember(brokers), modernMember(brokers)
	found := map[place]int{}
	owns := func(numbers ...int) bool {
		poll(ctx, first, found)
		if len(numbers) == 2 {
			poll(ctx, second, found)
		}
		described, err := admin.DescribeConsumerGroups(ctx, "modern")
		if err != nil || described["modern"].State != "Stable" || len(described["modern"].Members) != len(numbers) {
			return false
		}
		for at, member := range described["modern"].Members {
			if len(member.Assignment[work]) != numbers[at] {
				return false
			}
		}
		return true
	}
	until("two members with two partitions each", func() bool { return owns(2, 2) && len(found) == amount })
	fmt.Println("shared")
	_, _ = io.Copy(io.Discard, os.Stdin)
	admin.Close() // it would ask the coordinator that it knew
	admin = kadm.NewClient(must(kgo.NewClient(brokers)))
	defer admin.Close()
	fill(ctx, brokers)
	until("all records", func() bool {
		poll(ctx, first, found)
		poll(ctx, second, found)
		return len(found) == 2*amount
	})
	second.Close()
	until("one member with all partitions", func() bool { return owns(4) })
	until("all offsets", func() bool { // what the other one had read and not committed is read again
		poll(ctx, first, found)
		check(first.CommitUncommittedOffsets(ctx))
		sum := int64(0)
		must(admin.FetchOffsets(ctx, "modern")).Each(func(one kadm.OffsetResponse) { sum += max(one.At, 0) })
		return sum == 2*amount
	})
	first.Close()
}

// queue: each record is accepted once; one is given back first, and comes again as its second delivery.
func queue(ctx context.Context, brokers kgo.Opt) {
	client := must(kgo.NewClient(brokers))
	defer client.Close()
	request := kmsg.NewPtrIncrementalAlterConfigsRequest()
	resource := kmsg.NewIncrementalAlterConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeGroupConfig, "mill"
	config := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	config.Name, config.Value = "share.auto.offset.reset", kadm.StringPtr("earliest")
	resource.Configs = append(resource.Configs, config)
	request.Resources = append(request.Resources, resource)
	answer := must(request.RequestWith(ctx, client))
	assert(answer.Resources[0].ErrorCode == 0, answer.Resources[0])
	workers := []*kgo.Client{}
	for range 2 {
		workers = append(workers, must(kgo.NewClient(brokers, kgo.ConsumeTopics(work), kgo.ShareGroup("mill"),
			kgo.ShareMaxRecords(10), kgo.ShareMaxRecordsStrict(), kgo.FetchMaxWait(200*time.Millisecond))))
	}
	taken, accepted := map[place]int{}, map[place]int{}
	var back *kgo.Record
	deliveries := int32(0)
	until("every record", func() bool {
		for _, worker := range workers {
			for _, record := range poll(ctx, worker, taken) {
				where := place{record.Partition, record.Offset}
				if back == nil {
					back = record
					record.Ack(kgo.AckRelease)
					continue
				}
				if where == (place{back.Partition, back.Offset}) {
					deliveries = record.DeliveryCount()
				}
				record.Ack(kgo.AckAccept)
				accepted[where]++
			}
			check(worker.FlushAcks(ctx))
		}
		return len(accepted) == 2*amount
	})
	for where, times := range accepted {
		assert(times == 1, where, times)
	}
	assert(deliveries == 2, deliveries)
	for _, worker := range workers {
		worker.Close()
	}
}
