/work/main/patcher/main.o
/work/main/patcher/batch.o
/work/main/patcher/insn.o
/work/main/patcher/sites.o
/work/main/patcher/text.o
