"""The fast form of OverFeat, from the convnet benchmarks."""
import torch.nn as nn

from train import train


class OverFeat(nn.Module):
    def __init__(self, channels, maps, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, maps(96), 11, stride=4)
        self.conv2 = nn.Conv2d(maps(96), maps(256), 5)
        self.conv3 = nn.Conv2d(maps(256), maps(512), 3, padding=1)
        self.conv4 = nn.Conv2d(maps(512), maps(1024), 3, padding=1)
        self.conv5 = nn.Conv2d(maps(1024), maps(1024), 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.relu = nn.ReLU(inplace=True)
        self.fc6 = nn.LazyLinear(maps(3072))
        self.fc7 = nn.Linear(maps(3072), maps(4096))
        self.fc8 = nn.Linear(maps(4096), classes)

    def forward(self, x):
        x = self.pool(self.relu(self.conv1(x)))
        x = self.pool(self.relu(self.conv2(x)))
        x = self.relu(self.conv3(x))
        x = self.relu(self.conv4(x))
        x = self.pool(self.relu(self.conv5(x)))
        x = self.relu(self.fc6(x.flatten(1)))
        return self.fc8(self.relu(self.fc7(x)))


if __name__ == "__main__":
    train(OverFeat, side=231)
