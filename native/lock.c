// SPDX-License-Identifier: GPL-2.0-only
/* The gate: prevents fork() while a thread holds a mutex.  See include/linux/mutex.h. */
#include <linux/mutex.h>

__thread unsigned int native_mutexes_held;

/*
 * Whether the thread could be cancelled before it entered the gate.  Inside the gate, cancellation
 * is disabled.
 */
static __thread int cancel_state;

/*
 * State of the gate.  Threads take tickets, and are admitted in the order of their tickets.  So a
 * thread that takes mutexes in a loop or forks in a loop does not starve others.
 */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t moved;
	unsigned long tickets;	/* number of tickets given out */
	unsigned long admitted;	/* ticket of the thread that is admitted now or next */
	unsigned int inside;	/* number of threads that hold mutexes */
} gate = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.moved = PTHREAD_COND_INITIALIZER,
};

static void wait_until_admitted(void)
{
	unsigned long ticket;

	pthread_mutex_lock(&gate.lock);
	ticket = gate.tickets++;
	while (gate.admitted != ticket)
		pthread_cond_wait(&gate.moved, &gate.lock);
}

/* Admit the thread with the next ticket. */
static void admit_next_thread(void)
{
	gate.admitted++;
	pthread_cond_broadcast(&gate.moved);
	pthread_mutex_unlock(&gate.lock);
}

/*
 * Enter the gate.  Cancellation is disabled, because the wait for the gate and functions that are
 * called inside the gate may be cancellation points.
 */
void native_gate_enter(void)
{
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	wait_until_admitted();
	gate.inside++;
	admit_next_thread();
}

void native_gate_leave(void)
{
	pthread_mutex_lock(&gate.lock);
	if (!--gate.inside)
		pthread_cond_broadcast(&gate.moved);
	pthread_mutex_unlock(&gate.lock);
	pthread_setcancelstate(cancel_state, NULL);
}

void native_gate_close(void)
{
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	wait_until_admitted();
	while (gate.inside)
		pthread_cond_wait(&gate.moved, &gate.lock);
	pthread_mutex_unlock(&gate.lock);
}

void native_gate_open(void)
{
	pthread_mutex_lock(&gate.lock);
	admit_next_thread();
	pthread_setcancelstate(cancel_state, NULL);
}

void native_gate_reset_after_fork(void)
{
	pthread_mutex_init(&gate.lock, NULL);
	pthread_cond_init(&gate.moved, NULL);
	gate.tickets = 0;
	gate.admitted = 0;
	pthread_setcancelstate(cancel_state, NULL);
}
